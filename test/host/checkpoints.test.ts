import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { checkpointsContract } from '#test/contracts/checkpoints.contract.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

checkpointsContract(async () => {
  const porthole = await startTestHost();
  return { porthole, end: () => porthole.end() };
});

describe('objects of checkpoints in the data folder', () => {
  let porthole: TestHost;
  let id = '';
  beforeAll(async () => {
    porthole = await startTestHost({ PORTHOLE_CHECKPOINTS_MIB: '1' });
    id = (await porthole.call('POST', '/v1/sandbox', { body: {} })).json<{ id: string }>().id;
  }, 60_000);
  afterAll(() => porthole?.end());

  const path = () => `/v1/sandbox/${id}/checkpoints`;
  const take = async () => (await porthole.call('POST', path(), { body: {} })).json<{ id: string }>().id;
  const put = (name: string, body: Buffer | string) =>
    porthole.call('PUT', `/v1/sandbox/${id}/file/workspace/${name}`, { body });
  const read = async (name: string) =>
    (await porthole.call('GET', `/v1/sandbox/${id}/file/workspace/${name}`)).text;
  const objects = () =>
    readdirSync(join(porthole.dataDir, 'checkpoints'), { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name))
      .toSorted();

  test.each(['.pack', '.manifest'])('a damaged %s is found before anything changes', async (kind) => {
    await put('a', `first of ${kind}`);
    const checkpoint = await take();
    await put('a', 'second');
    const file = objects().find((name) => name.endsWith(`${checkpoint}${kind}`)) ?? '';
    const intact = readFileSync(file);
    const damaged = Buffer.from(intact);
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
    for (const content of [damaged, intact.subarray(0, -1), Buffer.alloc(0)]) {
      writeFileSync(file, content);
      const answer = await porthole.call('POST', `${path()}/${checkpoint}/restore`, { body: {} });
      expect([answer.status, answer.json<{ code: string }>().code]).toEqual([500, 'checkpoint_damaged']);
      expect(await read('a')).toBe('second');
      const forked = await porthole.call('POST', `${path()}/${checkpoint}/fork`, { body: {} });
      expect(forked.json<{ code: string }>().code).toBe('checkpoint_damaged');
    }
    writeFileSync(file, intact);
    await porthole.call('POST', `${path()}/${checkpoint}/restore`, { body: {} });
    expect(await read('a')).toBe(`first of ${kind}`);
  });

  test('over the limit nothing is left behind, and a deletion makes room', async () => {
    const before = objects();
    await put('large', randomBytes(1_100_000));
    const refused = await porthole.call('POST', path(), { body: {} });
    expect([refused.status, refused.json<{ code: string }>().code]).toEqual([507, 'disk_full']);
    expect(refused.json<{ remedy: string }>().remedy).toContain('Delete checkpoints');
    expect(objects()).toEqual(before);
    const { checkpoints } = (await porthole.call('GET', path())).json<{ checkpoints: { id: string }[] }>();
    for (const each of checkpoints) await porthole.call('DELETE', `${path()}/${each.id}`);
    expect(objects()).toEqual([]);
  });
});
