import { describe, expect, test } from '@jest/globals';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, get, refusal, run } from './bridge-client.ts';

export function sessionsContract(bridge: UnderTest, id: () => string): void {
  describe('a session', () => {
    const begin = (json?: unknown) => ask(bridge(), 'POST', `/v1/sandbox/${id()}/session`, { json });
    const end = (sid: string) => ask(bridge(), 'DELETE', `/v1/sandbox/${id()}/session/${sid}`);
    const within = async (session: string, ...argv: string[]) => {
      const { stdout, code } = await run(bridge(), id(), argv, { session });
      return [code, stdout.toString()];
    };

    test('is begun, and ended with 204', async () => {
      const answer = await begin({ id: 'first' });
      expect([answer.status, answer.json()]).toEqual([200, { id: 'first' }]);
      expect((await end('first')).status).toBe(204);
    });

    test('gets a new id where none is given, also with a body that is not JSON', async () => {
      for (const answer of [
        await begin(),
        await begin({}),
        await ask(bridge(), 'POST', `/v1/sandbox/${id()}/session`, { body: '{no' }),
      ]) {
        expect([answer.status, answer.json()]).toEqual([
          200,
          { id: expect.stringMatching(/^session-\d{13}/) as unknown },
        ]);
      }
    });

    test('keeps folder and environment from command to command', async () => {
      await within('kept', 'mkdir', '-p', 'inner/most');
      await within('kept', 'cd', 'inner/most');
      await within('kept', 'export', `MOTTO=it's "so"\nand so`);
      expect(await within('kept', 'pwd')).toEqual([0, '/workspace/inner/most\n']);
      expect(await within('kept', 'printenv', 'MOTTO')).toEqual([0, `it's "so"\nand so\n`]);
      await within('kept', 'unset', 'MOTTO');
      expect(await within('kept', 'printenv', 'MOTTO')).toEqual([1, '']);
    });

    test('survives exit', async () => {
      expect(await within('lasting', 'bash', '-c', 'exit 3')).toEqual([3, '']);
      expect(
        (await run(bridge(), id(), ['eval', 'cd /tmp; export A=kept; exit 42'], { session: 'lasting' })).code,
      ).toBe(42);
      expect(await within('lasting', 'eval', 'echo $A $PWD')).toEqual([0, 'kept /tmp\n']);
    });

    test('is apart from others, and from commands without one', async () => {
      await within('one', 'export', 'WHO=one');
      await within('two', 'eval', 'export WHO=two; cd /tmp');
      expect(await within('one', 'eval', 'echo $WHO $PWD')).toEqual([0, 'one /workspace\n']);
      expect(await within('two', 'eval', 'echo $WHO $PWD')).toEqual([0, 'two /tmp\n']);
      const { stdout } = await run(bridge(), id(), ['eval', 'echo $WHO $PWD']);
      expect(stdout.toString()).toBe('/workspace\n');
    });

    test('begins in the requested folder with the requested variables', async () => {
      await run(bridge(), id(), ['mkdir', '-p', 'start']);
      await begin({ id: 'custom', cwd: '/workspace/start', env: { GREETING: 'hello there', EMPTY: '' } });
      expect(await within('custom', 'eval', 'echo "$PWD $GREETING ${EMPTY-unset}"')).toEqual([
        0,
        '/workspace/start hello there \n',
      ]);
    });

    test('allows another folder for an exec', async () => {
      await run(bridge(), id(), ['mkdir', '-p', 'own']);
      const ran = await run(bridge(), id(), ['pwd'], { session: 'custom', cwd: 'own' });
      expect(ran.stdout.toString()).toBe('/workspace/own\n');
    });

    test('cannot be begun twice', async () => {
      await begin({ id: 'taken' });
      expect(refusal(await begin({ id: 'taken' }))).toEqual([
        502,
        'session_error',
        "session create failed: Session 'taken' already exists",
      ]);
    });

    test('fails to end when it is not there', async () => {
      expect(refusal(await end('unknown'))).toEqual([
        502,
        'session_error',
        "session delete failed: Session 'unknown' not found",
      ]);
    });

    test('begins anew after its end', async () => {
      await within('again', 'export', 'A=1');
      expect((await end('again')).status).toBe(204);
      expect(await within('again', 'printenv', 'A')).toEqual([1, '']);
    });

    test.each([
      ['a slash', 'a%2Fb'],
      ['two dots', '..'],
      ['two dots inside', 'a..b'],
      ['a space', 'a b'],
      ['129 characters', 'a'.repeat(129)],
    ])('rejects a Session-Id with %s', async (_what, session) => {
      const headers = { 'session-id': session };
      const wrong = [400, 'invalid_request', 'Invalid session ID format'];
      const json = { argv: ['true'] };
      expect(refusal(await ask(bridge(), 'POST', `/v1/sandbox/${id()}/exec`, { json, headers }))).toEqual(
        wrong,
      );
      expect(
        refusal(await ask(bridge(), 'GET', `/v1/sandbox/${id()}/file/workspace/a`, { headers })),
      ).toEqual(wrong);
      expect(
        refusal(await ask(bridge(), 'PUT', `/v1/sandbox/${id()}/file/workspace/a`, { headers, body: 'a' })),
      ).toEqual(wrong);
      expect((await get(bridge(), id(), 'workspace/a')).status).toBe(404);
    });

    test('rejects an invalid environment', async () => {
      expect((await begin({ env: { 'A B': '1' } })).status).toBe(400);
      expect((await begin({ env: { A: 1 } })).status).toBe(400);
      expect((await begin({ cwd: '/etc' })).status).toBe(403);
    });
  });
}
