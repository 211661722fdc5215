/** Routes that exist only for sandboxes with a guest: delete, move and watch. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openHostileHarness, type HostileHarness, missing } from '#test/hostile/support/hostile-harness.ts';
import { suite } from '#test/support/suite.ts';

suite('files that change', missing, () => {
  let harness: HostileHarness;
  beforeAll(async () => {
    harness = await openHostileHarness();
  }, 60_000);
  afterAll(() => harness.end());

  const statusOf = async (method: string, path: string, json?: object) =>
    (await harness.api(method, path, { ...(json !== undefined && { json }) })).status;

  test('moves and deletes files and folders, and refuses what leaves the workspace', async () => {
    await harness.sh('cd /workspace; mkdir -p a/b; echo x > a/b/f; echo y > g; ln -s /tmp/canary out');
    expect(await statusOf('POST', 'move', { from: 'a/b/f', to: 'new/h' })).toBe(200);
    const taken = await harness.api('POST', 'move', { json: { from: 'g', to: 'new/h' } });
    expect([taken.status, taken.json<{ code: string }>().code]).toEqual([409, 'file_exists']);
    expect(await statusOf('POST', 'move', { from: 'g', to: 'new/h', overwrite: true })).toBe(200);
    expect(await statusOf('POST', 'move', { from: 'out/secret', to: 'mine' })).toBe(403);
    expect(await statusOf('POST', 'move', { from: 'new/h', to: 'out/h' })).toBe(403);
    expect(await statusOf('POST', 'move', { from: 'none', to: 'h' })).toBe(404);
    expect(await statusOf('DELETE', 'file/workspace/a')).toBe(400);
    expect(await statusOf('DELETE', 'file/workspace/a?recursive=true')).toBe(200);
    expect(await statusOf('DELETE', 'file/workspace/a?recursive=true')).toBe(404);
    expect(await statusOf('DELETE', 'file/workspace/out/secret')).toBe(403);
    expect(await statusOf('DELETE', 'file/workspace/out')).toBe(200);
    expect(await harness.sh('cd /workspace; cat new/h; ls; cat /tmp/canary/secret')).toBe(
      `y\nnew\noutputs\n${harness.secret}`,
    );
  });

  test('keeps a delegate to its paths', async () => {
    await harness.sh(
      'cd /workspace; mkdir -p mine other; echo x > mine/f; echo y > other/f; ln -s ../other mine/out',
    );
    const delegated = await harness.api('POST', 'delegate', {
      json: { scopes: ['fs:read', 'fs:write'], paths: ['mine'] },
    });
    const { token: key } = delegated.json<{ token: string }>();
    const tries = [
      ['POST', 'move', { from: 'mine/f', to: 'other/g' }, 403],
      ['POST', 'move', { from: 'other/f', to: 'mine/g' }, 403],
      ['POST', 'move', { from: 'mine/out/f', to: 'mine/g' }, 403],
      ['POST', 'move', { from: 'mine/f', to: 'mine/deep/f' }, 200],
      ['DELETE', 'file/workspace/other/f', undefined, 403],
      ['DELETE', 'file/workspace/mine/out/f', undefined, 403],
      ['DELETE', 'file/workspace/mine/deep/f', undefined, 200],
      ['GET', 'watch?path=other', undefined, 403],
    ] as const;
    for (const [method, path, json, expected] of tries) {
      const { status } = await harness.api(method, path, { key, ...(json !== undefined && { json }) });
      expect([path, json, status]).toEqual([path, json, expected]);
    }
    expect(await harness.sh('cat /workspace/other/f')).toBe('y\n');
  });

  test('tells what changes in a folder until its reader goes', async () => {
    await harness.sh('mkdir -p /workspace/seen');
    const outgoing = request({
      port: harness.port,
      path: `/v1/sandbox/${harness.id}/watch?path=seen`,
      headers: { authorization: `Bearer ${harness.key}` },
    }).end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    let text = '';
    response.setEncoding('utf8');
    const until = async (wanted: string) => {
      while (!text.includes(wanted)) text += ((await once(response, 'data')) as [string])[0];
    };
    await until('event: ready');
    await harness.sh('mkdir /workspace/seen/new; echo 12345 > /workspace/seen/new/file');
    await until('"path":"/workspace/seen/new/file","file":{"type":"file","size":6');
    await harness.sh('rm /workspace/seen/new/file');
    await until('event: deleted');
    response.destroy();
    expect((await harness.api('GET', 'watch?path=none')).status).toBe(404);
  });
});
