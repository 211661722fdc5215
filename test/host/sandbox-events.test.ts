import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { type EventStream, openEventStream } from './support/event-stream.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';
import { makeRun, startPreview, outcome } from './support/runs.ts';

let porthole: TestHost;
beforeAll(async () => {
  porthole = await startTestHost(PEOPLE);
});
afterAll(() => porthole.end());

const asAlice = (method: string, path: string, body?: unknown) =>
  porthole.call(method, path, { token: ALICE, body });
const make = async (body: object = {}) =>
  (await asAlice('POST', '/v1/sandbox', body)).json<{ id: string; sandbox_token: string }>();
const follow = (id: string, token: string, headers: Readonly<Record<string, string>> = {}) =>
  openEventStream(porthole.host.port, `/v1/sandbox/${id}/events`, {
    authorization: `Bearer ${token}`,
    ...headers,
  });
/** The next event, without its time; other frames are skipped. */
async function next(stream: EventStream): Promise<Record<string, unknown> | undefined> {
  for (let frame = await stream.next(); frame !== undefined; frame = await stream.next()) {
    if (frame.data === undefined) continue;
    expect(frame.event).toBe('sandbox');
    const {
      at,
      duration_ms: _,
      ...event
    } = JSON.parse(frame.data) as Record<string, unknown> & { readonly at?: string };
    expect(at === undefined || Math.abs(Date.parse(at) - Date.now()) < 60_000).toBe(true);
    return { ...event, ...(frame.id === undefined ? {} : { id: frame.id }) };
  }
  return undefined;
}

describe('what happens in a sandbox', () => {
  test('arrives as it happens, for its owner and for delegates with its files', async () => {
    const run = await makeRun(porthole, ALICE);
    const id = run.sandboxId;
    const { token } = (await asAlice('POST', `/v1/sandbox/${id}/delegate`, { scopes: ['fs:read'] })).json<{
      token: string;
    }>();
    const streams = await Promise.all([follow(id, ALICE), follow(id, token)]);
    const all = async () => {
      const [first, second] = await Promise.all(streams.map(next));
      expect(second).toEqual(first);
      return first;
    };
    expect(await all()).toEqual({ type: 'connected', sandbox_id: id });
    await execute(porthole, id, ['sh', '-c', 'exit 3'], { token: ALICE });
    expect(await all()).toEqual({
      type: 'exec',
      command: 'sh -c exit 3',
      exit_code: 3,
      by: 'person',
      user: 'alice',
      id: '1',
    });
    await asAlice('PUT', `/v1/sandbox/${id}/file/workspace/a/../b.txt`, 'b');
    expect(await all()).toEqual({
      type: 'file_written',
      path: '/workspace/b.txt',
      by: 'person',
      user: 'alice',
      id: '2',
    });
    const { session_id } = await startPreview(porthole, run.runId, 3000, ALICE);
    expect(await all()).toEqual({ type: 'preview_opened', target_port: 3000, run_id: run.runId, id: '3' });
    await asAlice('POST', `/v1/sandbox/${id}/stop`);
    expect(await all()).toEqual({ type: 'stopped', id: '4' });
    await asAlice('POST', `/v1/sandbox/${id}/resume`);
    expect(await all()).toEqual({ type: 'resumed', id: '5' });
    for (const stream of streams) stream.leave();
    const again = await follow(id, ALICE, { 'last-event-id': '3' });
    expect(await next(again)).toEqual({ type: 'connected', sandbox_id: id });
    expect(await next(again)).toEqual({ type: 'stopped', id: '4' });
    again.leave();
    expect(
      JSON.stringify(await porthole.host.services.records.sandboxEvents.read(id, { after: 0, limit: 9 })),
    ).not.toContain(session_id);
  });

  test('tells which files go and come', async () => {
    const { id } = await make();
    await asAlice('PUT', `/v1/sandbox/${id}/file/workspace/a.txt`, 'a');
    await asAlice('POST', `/v1/sandbox/${id}/move`, { from: 'a.txt', to: 'b.txt' });
    await asAlice('DELETE', `/v1/sandbox/${id}/file/workspace/b.txt`);
    const stream = await follow(id, ALICE);
    const reported = [];
    for (let event = await next(stream); event?.['id'] !== '4'; event = await next(stream))
      reported.push(event);
    stream.leave();
    expect(reported).toEqual([
      { type: 'connected', sandbox_id: id },
      { type: 'file_written', path: '/workspace/a.txt', by: 'person', user: 'alice', id: '1' },
      { type: 'file_deleted', path: '/workspace/a.txt', by: 'person', user: 'alice', id: '2' },
      { type: 'file_written', path: '/workspace/b.txt', by: 'person', user: 'alice', id: '3' },
    ]);
  });

  test('omits the keys and credentials that a command has', async () => {
    const run = await makeRun(porthole, ALICE);
    const { token } = (
      await asAlice('POST', `/v1/sandbox/${run.sandboxId}/delegate`, { scopes: ['fs:read'] })
    ).json<{ token: string }>();
    const stream = await follow(run.sandboxId, token);
    expect(await next(stream)).toMatchObject({ type: 'connected' });
    const padding = 'x'.repeat(950);
    await execute(porthole, run.sandboxId, ['true', padding, ALICE, token], { token: ALICE });
    expect(await next(stream)).toEqual({
      type: 'exec',
      command: `true ${padding} [redacted] [signed token]`,
      exit_code: 0,
      by: 'person',
      user: 'alice',
      id: '1',
    });
  });

  test('is hidden from everyone else', async () => {
    const { id } = await make();
    expect(outcome(await porthole.call('GET', `/v1/sandbox/${id}/events`, { token: BOB }))).toEqual([
      404,
      'sandbox_not_found',
    ]);
    const { token } = (
      await asAlice('POST', `/v1/sandbox/${id}/delegate`, { scopes: ['fs:read'], paths: ['a'] })
    ).json<{ token: string }>();
    expect(outcome(await porthole.call('GET', `/v1/sandbox/${id}/events`, { token }))).toEqual([
      403,
      'forbidden',
    ]);
    const bad = await porthole.call('GET', `/v1/sandbox/${id}/events`, {
      token: ALICE,
      headers: { 'last-event-id': 'x' },
    });
    expect(outcome(bad)).toEqual([400, 'invalid_request']);
  });
});

describe('deleting sandboxes by a tag', () => {
  const deleted = (query: string, token = ALICE) => porthole.call('DELETE', `/v1/sandbox${query}`, { token });

  test('takes one’s own of that very tag, and leaves the rest', async () => {
    const tags = { thread_id: '42' };
    const mine = [
      await make({ tags, delete_with_thread: true }),
      await make({ tags: { ...tags, more: 'x' }, delete_with_thread: true }),
    ];
    const others = [await make({ tags: { thread_id: '421' }, delete_with_thread: true }), await make()];
    const bobs = (
      await porthole.call('POST', '/v1/sandbox', { token: BOB, body: { tags, delete_with_thread: true } })
    ).json<{ id: string }>();
    const answer = await deleted('?tag=thread_id:42');
    expect([answer.status, answer.json<{ ids: string[] }>().ids.toSorted()]).toEqual([
      200,
      mine.map(({ id }) => id).toSorted(),
    ]);
    for (const { id } of mine) expect((await asAlice('GET', `/v1/sandbox/${id}`)).status).toBe(404);
    for (const { id } of others) expect((await asAlice('GET', `/v1/sandbox/${id}`)).status).toBe(200);
    expect((await porthole.call('GET', `/v1/sandbox/${bobs.id}`, { token: BOB })).status).toBe(200);
    expect((await deleted('?tag=thread_id:42')).json()).toEqual({ ids: [] });
  });

  test('takes none by two tags, of which it would know the last alone', async () => {
    const one = await make({ tags: { more: 'y' }, delete_with_thread: true });
    expect(outcome(await deleted('?tag=thread_id:44&tag=more:y'))).toEqual([400, 'invalid_request']);
    expect((await asAlice('GET', `/v1/sandbox/${one.id}`)).status).toBe(200);
  });

  test('takes none where one of them stays with its owner, unless that is insisted on', async () => {
    const tags = { thread_id: '43' };
    const [kept, gone] = [await make({ tags }), await make({ tags, delete_with_thread: true })];
    const refused = await deleted('?tag=thread_id:43');
    expect(outcome(refused)).toEqual([409, 'sandboxes_kept']);
    expect(refused.text).toContain(kept.id);
    expect((await asAlice('GET', `/v1/sandbox/${gone.id}`)).status).toBe(200);
    expect((await deleted('?tag=thread_id:43&force=true')).json<{ ids: string[] }>().ids).toHaveLength(2);
  });

  test.each(['', '?tag=', '?tag=42', '?force=true', '?tag=a:b&force=yes'])(
    'is refused with %s',
    async (query) => {
      expect(outcome(await deleted(query))).toEqual([400, 'invalid_request']);
    },
  );
});
