import { describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { base32 } from '#core/previews/preview-token.ts';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, create, get, put, run } from './bridge-client.ts';

/** An unused id. */
const freshId = () => base32(randomBytes(16));

export function lifecycleContract(bridge: UnderTest): void {
  describe('a sandbox', () => {
    const isRunning = async (id: string) => {
      const answer = await ask(bridge(), 'GET', `/v1/sandbox/${id}/running`);
      return [answer.status, answer.json()];
    };
    const remove = async (id: string) => (await ask(bridge(), 'DELETE', `/v1/sandbox/${id}`)).status;

    test.each([
      ['no body', {}],
      ['an empty object', { json: {} }],
      ['what other clients send', { json: { exposedPorts: [3000], timeoutMs: 1_000, mounts: {} } }],
    ])('is made with %s, under 26 letters of base32', async (_what, body) => {
      const answer = await ask(bridge(), 'POST', '/v1/sandbox', body);
      expect([answer.status, answer.json()]).toEqual([
        200,
        {
          id: expect.stringMatching(/^[a-z2-7]{26}$/) as unknown,
          sandbox_token: expect.any(String) as unknown,
        },
      ]);
      const { id } = answer.json<{ id: string }>();
      expect(await isRunning(id)).toEqual([200, { running: true }]);
      expect(await remove(id)).toBe(204);
    });

    test('is made by the first use of its id', async () => {
      const id = freshId();
      expect((await run(bridge(), id, ['pwd'])).stdout.toString()).toBe('/workspace\n');
      expect(await remove(id)).toBe(204);
    });

    test('is made once by 10 first uses at once', async () => {
      const id = freshId();
      const ran = await Promise.all(
        Array.from({ length: 10 }, (_, at) => run(bridge(), id, ['sh', '-c', `echo ${at} > file-${at}`])),
      );
      expect(ran.map(({ code }) => code)).toEqual(Array.from({ length: 10 }, () => 0));
      const { stdout } = await run(bridge(), id, ['sh', '-c', 'ls file-* | wc -l']);
      expect(stdout.toString().trim()).toBe('10');
      await remove(id);
    });

    test('may have an id of one letter or of 128', async () => {
      for (const id of [freshId().slice(0, 1), 'b'.repeat(102) + freshId()]) {
        expect((await run(bridge(), id, ['true'])).code).toBe(0);
        expect(await remove(id)).toBe(204);
      }
    });

    test('is deleted with its files, and is a fresh one when its id is used again', async () => {
      const id = await create(bridge());
      await put(bridge(), id, 'workspace/kept.txt', 'kept');
      expect(await remove(id)).toBe(204);
      expect(await isRunning(id)).toEqual([200, { running: true }]);
      expect((await get(bridge(), id, 'workspace/kept.txt')).status).toBe(404);
      expect(await remove(id)).toBe(204);
      await put(bridge(), id, 'workspace/other.txt', 'other');
      expect((await run(bridge(), id, ['ls', '--hide=outputs'])).stdout.toString()).toBe('other.txt\n');
      expect(await remove(id)).toBe(204);
    });

    test('is not made by being deleted', async () => {
      const id = freshId();
      expect([await remove(id), await remove(id)]).toEqual([204, 204]);
    });
  });
}
