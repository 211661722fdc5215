import { describe, expect, test } from '@jest/globals';
import { addressOf } from '../../console/src/api/client.ts';

const ORIGIN = 'https://porthole.test';
/** The path that a browser requests. */
const pathOf = (address: string) => new URL(address, ORIGIN).pathname;

describe('API address', () => {
  test('includes the given path and query', () => {
    expect(addressOf('GET /api/runs/{id}', { id: 'a b/c?d#e' })).toBe('/api/runs/a%20b%2Fc%3Fd%23e');
    expect(
      addressOf('GET /v1/sandbox/{id}/file/{path}', { id: 'box', path: 'workspace/ä b/.x/..y/...' }),
    ).toBe('/v1/sandbox/box/file/workspace/%C3%A4%20b/.x/..y/...');
  });

  test.each(['.', '..', '%2e%2e', '.%2E', '%2e', '..\\', '../x', '..%2fx'])(
    'encodes the id into its route: %s',
    (id) => {
      expect(pathOf(addressOf('GET /api/runs/{id}/timeline', { id }))).toMatch(
        /^\/api\/runs\/[^/]+\/timeline$/,
      );
    },
  );

  test.each([
    '/../../../api/runs',
    '../../../../api/runs',
    'workspace/../../other/file/workspace/x',
    'workspace/./.././%2e%2e/..',
    'workspace/.\t./..\n/x',
    '\\..\\..\\api',
  ])('encodes the path into the route of its sandbox: %j', (path) => {
    const address = addressOf('GET /v1/sandbox/{id}/file/{path}', { id: 'box', path });
    expect(new URL(address, ORIGIN).origin).toBe(ORIGIN);
    const went = pathOf(address);
    expect(went.startsWith('/v1/sandbox/box/file/')).toBe(true);
    expect(went.split('/').length).toBe(5 + path.split('/').length);
  });
});
