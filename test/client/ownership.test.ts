import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { heartbeatEvery } from '../../client/resources/sandbox.ts';
import { Porthole } from '../../client/index.ts';

describe('a client that owns sandboxes', () => {
  let host: TestHost;
  let porthole: Porthole;
  /** Called for each request. */
  let onCall: (method: string, path: string) => void = () => undefined;

  beforeAll(async () => {
    host = await startTestHost(PEOPLE);
    const fetch: typeof globalThis.fetch = (input, init) => {
      onCall(init?.method ?? 'GET', new URL(input instanceof Request ? input.url : input).pathname);
      return globalThis.fetch(input, init);
    };
    porthole = new Porthole({ url: `http://127.0.0.1:${host.host.port}`, apiKey: ALICE, fetch });
  });
  afterAll(() => host.end());

  test('sends heartbeats while it holds one with a ttl, and stops when that is gone', async () => {
    const heartbeat = new Promise<void>((resolve) => {
      onCall = (_, path) => (path.endsWith('/heartbeat') ? resolve() : undefined);
    });
    const sandbox = await porthole.sandboxes.create({ ttlSeconds: 60 });
    expect(await sandbox.refresh()).toMatchObject({ ttl_seconds: 60, expires_at: expect.any(String) });
    // Once a second instead of every twenty.
    await sandbox.close();
    const keepAlive = sandbox.keepAlive(1);
    await heartbeat;
    await porthole.sandboxes.at(sandbox.id).delete();
    expect(await keepAlive.over).toMatchObject({ status: 404, code: 'sandbox_not_found' });
  });

  test.each([
    [60, 20_000],
    [3_600, 60_000],
    [1, 500],
  ])('sends them so often that two may be lost: of a ttl of %i s every %i ms', (ttl, ms) => {
    expect(heartbeatEvery(ttl)).toBe(ms);
  });

  test('gives one an end, and another one later', async () => {
    const sandbox = await porthole.sandboxes.create({ timeoutSeconds: 60, onTimeout: 'delete' });
    const { timeout_at: first, on_timeout } = await sandbox.refresh();
    expect([on_timeout, typeof first]).toEqual(['delete', 'string']);
    const later = await sandbox.setTimeout(3_600, { onTimeout: 'stop' });
    expect(later.on_timeout).toBe('stop');
    expect(Date.parse(later.timeout_at ?? '')).toBeGreaterThan(Date.parse(first ?? '') + 3_000_000);
    expect((await sandbox.setTimeout(null)).timeout_at).toBeNull();
    await sandbox.delete();
  });

  test('deletes those of a thread, all or none', async () => {
    const made = await Promise.all([
      porthole.sandboxes.create({ tags: { thread_id: '7' }, deleteWithThread: true }),
      porthole.sandboxes.create({ tags: { thread_id: '7' } }),
    ]);
    await expect(porthole.sandboxes.deleteByTag('thread_id', '7')).rejects.toMatchObject({
      code: 'sandboxes_kept',
    });
    const ids = await porthole.sandboxes.deleteByTag('thread_id', '7', { force: true });
    expect(ids.toSorted()).toEqual(made.map(({ id }) => id).toSorted());
    expect(await porthole.sandboxes.deleteByTag('thread_id', '7')).toEqual([]);
  });

  test('follows what happens in one, and goes on after what it knows', async () => {
    const sandbox = await porthole.sandboxes.create();
    await sandbox.files.write('a', 'a');
    await sandbox.exec(['true']).collect();
    const events = sandbox.events();
    const reported = async () => {
      const { value } = await events.next();
      return value === undefined ? undefined : value;
    };
    expect(await reported()).toMatchObject({ type: 'connected', sandbox_id: sandbox.id });
    const written = await reported();
    expect(written).toMatchObject({ type: 'file_written', path: '/workspace/a' });
    expect(await reported()).toMatchObject({ type: 'exec', exit_code: 0 });
    const stopped = reported();
    await sandbox.stop();
    expect(await stopped).toMatchObject({ type: 'stopped' });
    await events.return();

    const types: string[] = [];
    for await (const { type } of sandbox.events({ after: written?.id })) {
      types.push(type);
      if (type === 'stopped') break;
    }
    expect(types).toEqual(['connected', 'exec', 'stopped']);
    await sandbox.delete();
  });

  test('follows none that is gone', async () => {
    const sandbox = await porthole.sandboxes.create();
    await sandbox.delete();
    await expect(sandbox.events().next()).rejects.toMatchObject({ status: 404 });
  });
});
