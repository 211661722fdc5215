import { beforeAll, describe, expect, test } from '@jest/globals';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, create, refusal } from './bridge-client.ts';

const ID = 'abcdefghijklmnopqrstuvwxyz';
const UNAUTHORIZED = [401, 'unauthorized', 'Unauthorized'];

/** Routes as they would be called: method, path below `/v1`. */
const ROUTES: readonly (readonly [string, string])[] = [
  ['POST', '/sandbox'],
  ['DELETE', `/sandbox/${ID}`],
  ['GET', `/sandbox/${ID}/running`],
  ['POST', `/sandbox/${ID}/exec`],
  ['GET', `/sandbox/${ID}/file/workspace/a`],
  ['PUT', `/sandbox/${ID}/file/workspace/a`],
  ['POST', `/sandbox/${ID}/persist`],
  ['POST', `/sandbox/${ID}/hydrate`],
  ['POST', `/sandbox/${ID}/session`],
  ['DELETE', `/sandbox/${ID}/session/s`],
  ['GET', `/sandbox/${ID}/pty`],
  ['POST', `/sandbox/${ID}/tunnel/3000`],
  ['DELETE', `/sandbox/${ID}/tunnel/3000`],
  ['POST', `/sandbox/${ID}/mount`],
  ['POST', `/sandbox/${ID}/unmount`],
  ['GET', '/openapi.json'],
  ['GET', '/openapi'],
  ['GET', '/openapi.html'],
];

/** Credentials, ids, errors and unknown routes. */
export function surfaceContract(bridge: UnderTest): void {
  describe('its surface', () => {
    test.each(ROUTES)('%s %s asks for the key', async (method, path) => {
      expect(refusal(await ask(bridge(), method, `/v1${path}`, { key: null }))).toEqual(UNAUTHORIZED);
      expect(refusal(await ask(bridge(), method, `/v1${path}`, { key: 'wrong' }))).toEqual(UNAUTHORIZED);
    });

    test('takes the scheme in any case', async () => {
      for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
        const headers = { authorization: `${scheme} ${bridge().key}` };
        expect((await ask(bridge(), 'GET', '/v1/openapi.json', { key: null, headers })).status).toBe(200);
      }
    });

    test.each([
      ['upper case', 'ABC'],
      ['a hyphen', 'my-sandbox'],
      ['digits that base32 has not', 'abc0189'],
      ['a semicolon', 'foo;rm'],
      ['dots, encoded', '..%2Fetc'],
      ['a letter, encoded', '%61bc'],
      ['129 characters', 'a'.repeat(129)],
    ])('rejects an id with %s before it looks at the key', async (_what, id) => {
      for (const [method, path] of [
        ['GET', 'running'],
        ['POST', 'exec'],
        ['GET', 'file/workspace/a'],
        ['GET', 'pty'],
        ['POST', 'persist'],
      ] as const) {
        const answer = await ask(bridge(), method, `/v1/sandbox/${id}/${path}`, { key: null });
        expect(refusal(answer)).toEqual([400, 'invalid_request', 'Invalid sandbox ID format']);
        expect(answer.headers['content-type']).toBe('application/json');
      }
    });

    test.each([
      ['POST', '/v1/sandbox/'],
      ['PUT', '/v1/sandbox'],
      ['GET', `/v1/sandbox/${ID}/exec`],
      ['DELETE', `/v1/sandbox/${ID}/running`],
      ['GET', `/v1/sandbox/${ID}/nothing`],
      ['POST', '/v1/openapi.json'],
    ])('%s %s is no route', async (method, path) => {
      const answer = await ask(bridge(), method, path);
      expect([answer.status, answer.headers['content-type'], answer.body.toString()]).toEqual([
        404,
        'text/plain; charset=UTF-8',
        '404 Not Found',
      ]);
    });

    test('answers nothing outside its prefix', async () => {
      expect((await ask(bridge(), 'POST', '/sandbox')).status).toBe(404);
      expect((await ask(bridge(), 'GET', `/sandbox/${ID}/running`)).status).toBe(404);
    });

    test('answers GET /health for anyone', async () => {
      const answer = await ask(bridge(), 'GET', '/health', { key: null });
      expect([answer.status, answer.json()]).toEqual([200, expect.objectContaining({ ok: true })]);
    });

    describe('its OpenAPI document', () => {
      let document: {
        openapi: string;
        paths: Record<string, Record<string, { operationId: string; 'x-porthole-addition'?: true }>>;
      };
      beforeAll(async () => {
        document = (await ask(bridge(), 'GET', '/v1/openapi.json')).json();
      });

      test('is OpenAPI 3.1', () => expect(document.openapi).toMatch(/^3\.1\./));

      test('has the operations of the bridge, under its ids', () => {
        const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
          Object.entries(methods).map(([method, { operationId }]) => [operationId, `${method} ${path}`]),
        );
        expect(Object.fromEntries(operations)).toMatchObject({
          createSandbox: 'post /v1/sandbox',
          deleteSandbox: 'delete /v1/sandbox/{id}',
          isSandboxRunning: 'get /v1/sandbox/{id}/running',
          execCommand: 'post /v1/sandbox/{id}/exec',
          readFile: 'get /v1/sandbox/{id}/file/{path}',
          writeFile: 'put /v1/sandbox/{id}/file/{path}',
          persistWorkspace: 'post /v1/sandbox/{id}/persist',
          hydrateWorkspace: 'post /v1/sandbox/{id}/hydrate',
          mountBucket: 'post /v1/sandbox/{id}/mount',
          unmountBucket: 'post /v1/sandbox/{id}/unmount',
          createSession: 'post /v1/sandbox/{id}/session',
          deleteSession: 'delete /v1/sandbox/{id}/session/{sid}',
          ptyTerminal: 'get /v1/sandbox/{id}/pty',
          createTunnel: 'post /v1/sandbox/{id}/tunnel/{port}',
          deleteTunnel: 'delete /v1/sandbox/{id}/tunnel/{port}',
          getPoolStats: 'get /v1/pool/stats',
          primePool: 'post /v1/pool/prime',
          shutdownPrewarmed: 'post /v1/pool/shutdown-prewarmed',
          healthCheck: 'get /health',
          getOpenApiSchema: 'get /v1/openapi.json',
        });
      });

      test('marks what the bridge has not', () => {
        expect(document.paths['/v1/sandbox/{id}/exec']?.['post']).not.toHaveProperty('x-porthole-addition');
        expect(document.paths['/api/runs']?.['post']).toHaveProperty('x-porthole-addition', true);
      });

      test('may be asked for with the key in the URL', async () => {
        const { key } = bridge();
        for (const path of ['/v1/openapi.json', '/v1/openapi', '/v1/openapi.html']) {
          expect((await ask(bridge(), 'GET', `${path}?token=${key}`, { key: null })).status).toBe(200);
          expect((await ask(bridge(), 'GET', `${path}?token=wrong`, { key: null })).status).toBe(401);
        }
      });

      test('is a page for people, too', async () => {
        for (const path of ['/v1/openapi', '/v1/openapi.html']) {
          const page = await ask(bridge(), 'GET', path);
          expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
          expect(page.body.toString().slice(0, 15).toLowerCase()).toBe('<!doctype html>');
        }
      });
    });

    test('answers HEAD on GET routes as well', async () => {
      const id = await create(bridge());
      const answer = await ask(bridge(), 'HEAD', `/v1/sandbox/${id}/running`);
      expect([answer.status, answer.body.length]).toEqual([200, 0]);
      await ask(bridge(), 'DELETE', `/v1/sandbox/${id}`);
    });
  });
}
