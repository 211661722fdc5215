import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type EventStream, openEventStream } from './support/event-stream.ts';
import { ADA_ADMIN, ALICE, BOB, CAROL, PEOPLE } from './support/people.ts';
import { pinnedClock } from './support/pinned-clock.ts';
import { type MadeRun, makeRun } from './support/runs.ts';

const ROOT = 'root-key-0123456789abcdef-root';

describe('a run that its owner shares', () => {
  let porthole: TestHost;
  let shared: MadeRun;
  const streams: EventStream[] = [];
  beforeAll(async () => {
    const keys = JSON.parse(PEOPLE.PORTHOLE_API_KEYS) as Record<string, object>;
    porthole = await startTestHost({
      ...PEOPLE,
      PORTHOLE_API_KEYS: JSON.stringify({ ...keys, [ROOT]: { user: 'root', org: 'globex', admin: true } }),
    });
    shared = await makeRun(porthole, ALICE, { title: 'Shop' });
  });
  afterEach(() => streams.splice(0).forEach((stream) => stream.leave()));
  afterAll(() => porthole.end());

  const share = (sharing: string, { runId } = shared, token = ALICE) =>
    porthole.call('PATCH', `/api/runs/${runId}`, { token, body: { sharing } });
  const listed = async (token: string, query = '?shared=true') =>
    (await porthole.call('GET', `/api/runs${query}`, { token }))
      .json<{ runs: { run_id: string; access: string; sharing: string }[] }>()
      .runs.map(({ run_id: id, access, sharing }) => [id, access, sharing]);

  const sandboxAccess = async (token: string) =>
    (await porthole.call('GET', `/v1/sandbox/${shared.sandboxId}`, { token })).json()['access'];

  test('is listed for colleagues only, with what they may do', async () => {
    expect(await listed(CAROL)).toEqual([]);
    await share('view');
    expect(await listed(CAROL)).toEqual([[shared.runId, 'view', 'view']]);
    expect(await sandboxAccess(CAROL)).toBe('view');
    expect(await sandboxAccess(ALICE)).toBe('owner');
    expect(await sandboxAccess(ADA_ADMIN)).toBe('owner');
    expect(await sandboxAccess(shared.agentToken)).toBe('work');
    await share('work');
    expect(await listed(CAROL)).toEqual([[shared.runId, 'work', 'work']]);
    expect(await sandboxAccess(CAROL)).toBe('work');
    expect(await listed(BOB)).toEqual([]);
    expect(await listed(ALICE)).toEqual([]);
    expect(await listed(CAROL, '')).toEqual([]);
    expect(await listed(ALICE, '')).toEqual([[shared.runId, 'owner', 'work']]);
  });

  test('says each change once on its timeline', async () => {
    const run = await makeRun(porthole, ALICE, { sandbox_id: shared.sandboxId });
    for (const sharing of ['view', 'view', 'private', 'work']) await share(sharing, run);
    const { events } = (
      await porthole.call('GET', `/api/runs/${run.runId}/timeline`, { token: CAROL })
    ).json<{ events: { type: string; data: Record<string, unknown> }[] }>();
    expect(events.filter(({ type }) => type === 'run.shared').map(({ data }) => data)).toEqual(
      ['view', 'private', 'work'].map((sharing) => ({ sharing, by: 'person', user: 'alice' })),
    );
    await share('private', run);
  });

  test('names the colleague who acts on it, and not its owner, on its timeline', async () => {
    const run = await makeRun(porthole, ALICE, { sandbox_id: shared.sandboxId });
    await share('work', run);
    for (const token of [CAROL, ALICE]) {
      await porthole.call('POST', `/api/runs/${run.runId}/inbox`, { token, body: { text: 'Larger.' } });
    }
    const { events } = (
      await porthole.call('GET', `/api/runs/${run.runId}/timeline`, { token: CAROL })
    ).json<{ events: { type: string; data: Record<string, unknown> }[] }>();
    const posted = events.filter(({ type }) => type === 'inbox.posted').map(({ data }) => data);
    expect(posted.map(({ by, user }) => [by, user])).toEqual([
      ['member', 'carol'],
      ['owner', undefined],
    ]);
    await share('private', run);
  });

  test('rejects an unknown mode, and says which there are', async () => {
    const answer = await share('public');
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('sharing: must be one of private, view, work');
  });

  test('ends the streams of colleagues when it is private again', async () => {
    await share('view');
    const stream = await openEventStream(porthole.host.port, `/api/runs/${shared.runId}/events`, {
      authorization: `Bearer ${CAROL}`,
    });
    streams.push(stream);
    const own = await openEventStream(porthole.host.port, `/api/runs/${shared.runId}/events`, {
      authorization: `Bearer ${ALICE}`,
    });
    streams.push(own);
    await share('private');
    const drain = async () => {
      while ((await stream.next()) !== undefined);
    };
    await expect(drain()).rejects.toThrow('aborted');
    // The stream of the owner goes on.
    await share('view');
    const seen: unknown[] = [];
    while (seen.slice(-2).join() !== 'private,view') {
      const frame = await own.next();
      if (frame?.event === 'run.shared') seen.push((JSON.parse(frame.data ?? '') as Shared).data.sharing);
    }
    expect(seen).toContain('private');
  });

  test('stays stopped for colleagues who may only view it', async () => {
    await share('view');
    const { sandboxId } = shared;
    const path = `/v1/sandbox/${sandboxId}/file/workspace/a.txt`;
    await porthole.call('PUT', path, { token: ALICE, body: 'a' });
    expect((await porthole.call('GET', path, { token: CAROL })).text).toBe('a');
    await porthole.call('POST', `/v1/sandbox/${sandboxId}/stop`, { token: ALICE, body: {} });
    expect((await porthole.call('GET', path, { token: CAROL })).json()).toMatchObject({
      code: 'sandbox_not_running',
    });
    expect((await porthole.call('GET', `/v1/sandbox/${sandboxId}`, { token: ALICE })).json()).toMatchObject({
      state: 'stopped',
    });
    await share('work');
    const resumed = await porthole.call('POST', `/v1/sandbox/${sandboxId}/resume`, {
      token: CAROL,
      body: {},
    });
    expect(resumed.json()).toMatchObject({ state: 'running' });
  });

  test('does not share the sandbox of another owner with an organisation', async () => {
    await share('private');
    // An admin may make a run in it.
    const foreign = await makeRun(porthole, ROOT, { sandbox_id: shared.sandboxId });
    expect((await share('work', foreign, ROOT)).status).toBe(200);
    expect((await porthole.call('GET', `/v1/sandbox/${shared.sandboxId}`, { token: BOB })).status).toBe(404);
    expect((await porthole.call('GET', `/v1/sandbox/${shared.sandboxId}`, { token: CAROL })).status).toBe(
      404,
    );
  });

  test('does not come back to life through a colleague after its sandbox was deleted', async () => {
    const run = await makeRun(porthole, ALICE);
    await share('work', run);
    await porthole.call('DELETE', `/v1/sandbox/${run.sandboxId}`, { token: ALICE });
    const path = `/v1/sandbox/${run.sandboxId}/file/workspace/a.txt`;
    expect((await porthole.call('PUT', path, { token: CAROL, body: 'a' })).status).toBe(404);
  });
});

interface Shared {
  readonly data: { readonly sharing: string };
}

test('says who has a shared run open, for 20 seconds, and of a private run nothing', async () => {
  const clock = pinnedClock();
  const porthole = await startTestHost(PEOPLE, { clock });
  try {
    const { runId, agentToken } = await makeRun(porthole, ALICE);
    const path = `/api/runs/${runId}/viewers`;
    const ask = async (method: 'GET' | 'PUT', token: string) => {
      const answer = await porthole.call(method, path, { token });
      if (answer.status !== 200) return answer.json()['code'];
      const { viewers } = answer.json<{ viewers: { user: string; is_you: boolean }[] }>();
      return viewers.map(({ user, is_you }) => `${user}${is_you ? ' (you)' : ''}`);
    };
    const share = (sharing: string) =>
      porthole.call('PATCH', `/api/runs/${runId}`, { token: ALICE, body: { sharing } });
    expect([await ask('PUT', ALICE), await ask('PUT', ADA_ADMIN), await ask('PUT', CAROL)]).toEqual([
      [],
      [],
      'foreign_run',
    ]);
    await share('view');
    // Nothing was recorded while it was private.
    expect(await ask('GET', CAROL)).toEqual([]);
    expect(await ask('PUT', CAROL)).toEqual(['carol (you)']);
    clock.advance({ seconds: 12 });
    expect(await ask('PUT', ALICE)).toEqual(['alice (you)', 'carol']);
    // An admin of another organisation reads the list, and is not on it.
    expect(await ask('PUT', ADA_ADMIN)).toEqual(['alice', 'carol']);
    expect([await ask('PUT', BOB), await ask('GET', BOB), await ask('GET', agentToken)]).toEqual([
      'foreign_run',
      'foreign_run',
      'forbidden',
    ]);
    clock.advance({ seconds: 9 });
    expect(await ask('GET', CAROL)).toEqual(['alice']);
    await ask('PUT', CAROL);
    await share('private');
    expect([await ask('GET', ALICE), await ask('GET', CAROL)]).toEqual([[], 'foreign_run']);
  } finally {
    await porthole.end();
  }
});

test('starts shared where the installation says so', async () => {
  const porthole = await startTestHost({ ...PEOPLE, PORTHOLE_RUN_SHARING: 'view' });
  try {
    const { runId } = await makeRun(porthole, ALICE);
    expect((await porthole.call('GET', `/api/runs/${runId}`, { token: CAROL })).json()).toMatchObject({
      sharing: 'view',
      access: 'view',
      owner: 'alice',
    });
  } finally {
    await porthole.end();
  }
});
