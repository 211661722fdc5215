import { beforeAll, describe, expect, test } from '@jest/globals';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, create, put, run } from './bridge-client.ts';

/**
 * The contract of a delegated sandbox: the parts that depend on how its commands run and where its
 * files are.
 */
export function delegatedContract(bridge: UnderTest): void {
  describe('delegated', () => {
    let id: string;
    beforeAll(async () => {
      id = await create(bridge());
      await put(bridge(), id, 'workspace/src/a.txt', 'a');
      await put(bridge(), id, 'workspace/other/b.txt', 'b');
      await run(bridge(), id, [
        'sh',
        '-c',
        'ln -s ../other src/out; ln -s ../other/b.txt src/b; ln -s a.txt src/same',
      ]);
    });

    const delegate = async (json: object): Promise<{ token: string; delegation_id: string }> => {
      const answer = await ask(bridge(), 'POST', `/v1/sandbox/${id}/delegate`, { json });
      expect([answer.status, answer.body.toString()]).toEqual([201, expect.stringContaining('"token"')]);
      return answer.json();
    };
    const file = async (key: string, method: 'GET' | 'PUT', path: string) =>
      (
        await ask(bridge(), method, `/v1/sandbox/${id}/file/workspace/${path}`, {
          key,
          ...(method === 'PUT' && { body: 'new' }),
        })
      ).status;

    test('paths are reached, and nothing that links in them lead to', async () => {
      const { token } = await delegate({ scopes: ['fs:read', 'fs:write'], paths: ['src'] });
      for (const path of ['src/a.txt', 'src/same'])
        expect([path, await file(token, 'GET', path)]).toEqual([path, 200]);
      expect(await file(token, 'PUT', 'src/of/new/folders.txt')).toBe(200);
      for (const path of ['other/b.txt', 'src/out/b.txt', 'src/b']) {
        expect([path, await file(token, 'GET', path)]).toEqual([path, 403]);
      }
      for (const path of ['other/c.txt', 'src/out/c.txt', 'src/out/new/c.txt', 'src/b']) {
        expect([path, await file(token, 'PUT', path)]).toEqual([path, 403]);
      }
      const left = await run(bridge(), id, ['find', 'other', '-type', 'f', '-exec', 'cat', '{}', '+']);
      expect(left.stdout.toString()).toBe('b');
      const folder = async (path: string) =>
        (await ask(bridge(), 'GET', `/v1/sandbox/${id}/files?path=${path}`, { key: token })).status;
      expect([await folder('src'), await folder('src/out')]).toEqual([200, 403]);
    });

    test('runs the delegated commands, and no others', async () => {
      const { token } = await delegate({ scopes: ['exec'], commands: ['cat'] });
      expect((await run(bridge(), id, ['cat', 'src/a.txt'], { key: token })).stdout.toString()).toBe('a');
      await expect(run(bridge(), id, ['sh', '-c', 'cat src/a.txt'], { key: token })).rejects.toThrow('403');
    });

    test('is taken back with what runs', async () => {
      const { token, delegation_id } = await delegate({ scopes: ['exec'] });
      const script = 'echo $$ >pid; exec sleep 4321';
      const running = run(bridge(), id, ['sh', '-c', script], { key: token }).then(
        () => 'ended well',
        () => 'cut off',
      );
      await run(bridge(), id, ['sh', '-c', 'until [ -s pid ]; do sleep 0.05; done']);
      await ask(bridge(), 'DELETE', `/v1/sandbox/${id}/delegations/${delegation_id}`);
      expect(await running).toBe('cut off');
      // A zombie that has not been reaped has no command line any more.
      const gone =
        'until [ -z "$(tr -d "\\0" 2>/dev/null </proc/$(cat pid)/cmdline)" ]; do sleep 0.05; done; echo gone';
      expect((await run(bridge(), id, ['sh', '-c', gone])).stdout.toString()).toBe('gone\n');
      await expect(run(bridge(), id, ['true'], { key: token })).rejects.toThrow('401');
    }, 30_000);
  });
}
