import { describe, expect, test } from '@jest/globals';
import { createRouter, lazyRoute, type RouteRow } from '#host/server/router.ts';
import { lineLogger } from '#host/serverless/line-logger.ts';
import { ROUTES } from '#handlers/features.ts';

function routerOf(routes: readonly Pick<RouteRow, 'id' | 'method' | 'path'>[]) {
  return createRouter({
    routes: routes.map((row) => ({
      opens: false,
      isEndless: false,
      load: () => Promise.reject(new Error('only found')),
      ...row,
    })),
    answerOf: () => () => ({ statusCode: 200, headers: {}, body: '' }),
    missingPage: () => Promise.resolve(undefined),
    log: lineLogger({ level: 'silent' }),
  });
}

describe('a router', () => {
  test('finds every route by its path', () => {
    const router = routerOf(ROUTES.map(lazyRoute));
    for (const { id, method, path, socket = false } of ROUTES) {
      const asked = path.replace(/\{\w+\}/g, 'x');
      expect([asked, router.find(method, asked, socket).operation]).toEqual([asked, id]);
    }
  });

  const PATHS = ['/', '/{page}', '/api/runs', '/api/runs/{id}', '/api/runs/latest', '/api/{kind}/{id}/log'];
  test.each([
    ['/', '/'],
    ['/about', '/{page}'],
    ['/api', '/{page}'],
    ['/api/', 'unmatched'],
    ['/api/runs', '/api/runs'],
    ['/api/runs/1', '/api/runs/{id}'],
    ['/api/runs/latest', '/api/runs/latest'],
    ['/api/runs/1/log', '/api/{kind}/{id}/log'],
    ['/api/other/1/log', '/api/{kind}/{id}/log'],
    ['/api/{kind}/1/log', '/api/{kind}/{id}/log'],
    ['/%61pi/runs/1', '/api/runs/{id}'],
    ['/api/runs/1/2', 'unmatched'],
  ])('finds for %s: %s', (path, operation) => {
    const router = routerOf(PATHS.map((each) => ({ id: each, method: 'GET', path: each })));
    expect(router.find('GET', path, false).operation).toBe(operation);
    expect(router.has('GET', path)).toBe(operation !== 'unmatched');
    expect(router.has('POST', path)).toBe(false);
  });
});
