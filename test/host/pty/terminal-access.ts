import { describe, expect, test } from '@jest/globals';
import type { TestHost } from '#test/support/in-process-host.ts';
import { ALICE, BOB } from '../support/people.ts';
import { rawExchange } from '../support/raw-exchange.ts';
import { makeRun } from '../support/runs.ts';
import {
  openTerminal,
  refusedTerminal,
  type TerminalOptions,
  type Terminals,
  terminalsOf,
} from '../support/terminals.ts';

/** Which handshakes open a terminal of alice's sandbox `here`, and which are refused. */
export function terminalAccess(porthole: () => TestHost, here: () => Terminals): void {
  const handshake = (headers: string, path = `/v1/sandbox/${here().id}/pty`, token = ALICE) =>
    rawExchange(
      porthole().host.port,
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${token && `Authorization: Bearer ${token}\r\n`}${headers}\r\n`,
    );
  const GOOD = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

  describe('before the handshake, it refuses by plain HTTP', () => {
    const range = 'cols and rows must be from 1 to 4096';
    const shell = 'shell must be the name or the path of one program, such as /bin/bash, without arguments';
    test.each<[TerminalOptions, string]>([
      [{ query: { cols: 0 } }, range],
      [{ query: { rows: -5 } }, range],
      [{ query: { cols: 65_535 } }, range],
      [{ query: { cols: 'Infinity' } }, 'cols and rows must be valid numbers'],
      [{ query: { session: 'a..b' } }, 'Invalid session ID format'],
      [{ headers: { 'Session-Id': 'a b' }, query: { session: 'good' } }, 'Invalid session ID format'],
      [{ query: { shell: 'bash -i' } }, shell],
      [{ query: { shell: '-c' } }, shell],
      [{ query: { shell: 'a\nb' } }, shell],
      [{ query: { shell: '$(id)' } }, shell],
      [{ query: { shell: 'x'.repeat(256) } }, shell],
    ])('%j: %s', async (options, error) => {
      const answer = await here().refused(options);
      expect([answer.status, answer.body]).toEqual([
        400,
        { error, code: 'invalid_request', retryable: false },
      ]);
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{16}$/);
      expect(answer.headers['connection']).toBe('close');
    });

    test('refuses an id of another form', async () => {
      const answer = await terminalsOf(porthole(), 'NOT-AN-ID', ALICE).refused({});
      expect([answer.status, answer.body['error']]).toEqual([400, 'Invalid sandbox ID format']);
    });

    test.each([
      ['without a key', 'Sec-WebSocket-Version: 13\r\n'],
      ['of an old version', GOOD.replace('13', '8')],
    ])('refuses a handshake %s, and ends the connection', async (_name, headers) => {
      const answer = await handshake(headers);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('"code":"invalid_request"');
    });

    test.each(['cols', 'rows'])('refuses a wrong %s before a handshake that is broken', async (name) => {
      const answer = await handshake('', `/v1/sandbox/${here().id}/pty?${name}=abc`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain(
        '{"error":"cols and rows must be valid numbers","code":"invalid_request","retryable":false}',
      );
    });

    test('refuses a foreign origin', async () => {
      const answer = await handshake(`${GOOD}Origin: https://evil.test\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 403 /);
      expect(answer).toContain('"code":"origin_not_allowed"');
    });

    test.each(['/no/such/path', '/health', '/v1/sandbox/x/exec', '/v1/sandbox/x/ptys'])(
      'refuses a handshake at %s',
      async (path) => {
        expect(await handshake(GOOD, path)).toMatch(/^HTTP\/1\.1 40[45] /);
      },
    );
  });

  describe('access to a terminal', () => {
    const statusFor = async (options: TerminalOptions) => {
      const { status, body } = await refusedTerminal(porthole().host.port, here().id, options);
      return [status, body['code']];
    };
    const UNAUTHORIZED = [401, 'unauthorized'];
    const NOT_FOUND = [404, 'sandbox_not_found'];

    test('refuses no key, a stranger’s key and a wrong key', async () => {
      expect(await statusFor({})).toEqual(UNAUTHORIZED);
      expect(await statusFor({ token: 'wrong-key-0123456789-wrong' })).toEqual(UNAUTHORIZED);
      expect(await statusFor({ token: BOB })).toEqual(NOT_FOUND);
    });

    test('answers 401 before it checks the handshake', async () => {
      const answer = await handshake('', `/v1/sandbox/${here().id}/pty?cols=abc`, '');
      expect(answer).toMatch(/^HTTP\/1\.1 401 /);
      expect(answer).toContain('{"error":"Unauthorized","code":"unauthorized","retryable":false}');
    });

    test('accepts a key in the query like one in the header, and logs neither', async () => {
      const { host, logged } = porthole();
      const query = (authorization: string) => ({ query: { authorization } });
      await (await openTerminal(host.port, here().id, query(`Bearer ${ALICE}`))).leave();
      expect(await statusFor(query(`Bearer ${BOB}`))).toEqual(NOT_FOUND);
      expect(await statusFor(query(ALICE))).toEqual(UNAUTHORIZED);
      expect(await statusFor({ token: BOB, ...query(`Bearer ${ALICE}`) })).toEqual(NOT_FOUND);
      expect(logged.some((line) => line.includes('ptyTerminal'))).toBe(true);
      expect(logged.filter((line) => [ALICE, BOB].some((key) => line.includes(key)))).toEqual([]);
    });

    test('accepts a key in the query on no other route', async () => {
      const query = `authorization=Bearer%20${ALICE}`;
      for (const path of [`/v1/sandbox/${here().id}/running`, '/v1/openapi.json'])
        expect((await porthole().call('GET', `${path}?${query}`)).status).toBe(401);
    });

    test('gives the agent of a run terminals in its own sandbox only', async () => {
      const [own, other] = [await makeRun(porthole(), ALICE), await makeRun(porthole(), ALICE)];
      const { open, refused } = terminalsOf(porthole(), own.sandboxId, own.agentToken);
      await (await open()).leave();
      expect((await refused({ token: other.agentToken })).status).toBe(404);
    });
  });
}
