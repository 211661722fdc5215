import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';
import { makeRun, startPreview, outcome } from './support/runs.ts';

describe('completing a run', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({
      ...PEOPLE,
      PORTHOLE_QUOTAS: JSON.stringify({ default: { sandboxes: 2 } }),
    });
  });
  afterAll(() => porthole.end());
  const asAlice = (method: string, path: string, body?: unknown) =>
    porthole.call(method, path, { token: ALICE, ...(body === undefined ? {} : { body }) });
  const complete = (runId: string) => asAlice('POST', `/api/runs/${runId}/complete`);
  const stateOf = async (id: string) => (await asAlice('GET', `/v1/sandbox/${id}`)).json()['state'];
  const destroy = async (id: string) =>
    expect((await asAlice('DELETE', `/v1/sandbox/${id}`)).status).toBe(204);

  test('stops its sandbox, keeps the files, and makes room in the quota', async () => {
    const made: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      const { runId, sandboxId } = await makeRun(porthole, ALICE);
      made.push(sandboxId);
      await execute(porthole, sandboxId, ['sh', '-c', `echo ${n} > kept`], { token: ALICE });
      expect((await complete(runId)).status).toBe(200);
      expect(await stateOf(sandboxId)).toBe('stopped');
    }
    const { used } = (await asAlice('GET', '/api/quota')).json<{ used: Record<string, number> }>();
    expect(used).toMatchObject({ sandboxes: 0, runs: 0, previews: 0 });
    const kept = await asAlice('GET', `/v1/sandbox/${made[2]}/file/workspace/kept`);
    expect([kept.status, kept.text]).toEqual([200, '2\n']);
    for (const id of made) await destroy(id);
  });

  test('leaves a sandbox running that another run works in, until that one completes as well', async () => {
    const first = await makeRun(porthole, ALICE);
    const second = await makeRun(porthole, ALICE, { sandbox_id: first.sandboxId });
    await complete(first.runId);
    expect(await stateOf(first.sandboxId)).toBe('running');
    await complete(second.runId);
    expect(await stateOf(first.sandboxId)).toBe('stopped');
    await destroy(first.sandboxId);
  });

  test('leaves a sandbox running while its preview is kept', async () => {
    const { runId, sandboxId } = await makeRun(porthole, ALICE);
    await startPreview(porthole, runId, 3000, ALICE);
    await complete(runId);
    expect(await stateOf(sandboxId)).toBe('running');
    await destroy(sandboxId);
  });

  test('leaves a sandbox running the second time if its owner has resumed it', async () => {
    const { runId, sandboxId } = await makeRun(porthole, ALICE);
    await complete(runId);
    await asAlice('POST', `/v1/sandbox/${sandboxId}/resume`);
    await complete(runId);
    expect(await stateOf(sandboxId)).toBe('running');
    await destroy(sandboxId);
  });
});

describe('the quotas of runs and previews', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({
      ...PEOPLE,
      PORTHOLE_QUOTAS: JSON.stringify({ default: { sandboxes: null, runs: 3, previews: 2 } }),
    });
  });
  afterAll(() => porthole.end());

  test('refuse the fourth active run, however many are asked for at once, and bind each owner alone', async () => {
    const { sandboxId } = await makeRun(porthole, ALICE);
    const asked = await Promise.all(
      Array.from({ length: 8 }, () =>
        porthole.call('POST', '/api/runs', { token: ALICE, body: { sandbox_id: sandboxId } }),
      ),
    );
    expect(asked.filter(({ status }) => status === 201)).toHaveLength(2);
    const [refused] = asked.filter(({ status }) => status !== 201);
    expect(refused?.status).toBe(429);
    expect(refused?.json()).toEqual({
      error:
        'You have 3 active runs, which is your limit: complete a run, or ask an administrator to raise PORTHOLE_QUOTAS.',
      code: 'quota_exceeded',
      retryable: true,
      remedy: 'Complete a run, or ask an administrator to raise PORTHOLE_QUOTAS.',
    });
    await makeRun(porthole, BOB);
    const [made] = asked.filter(({ status }) => status === 201);
    await porthole.call('POST', `/api/runs/${String(made?.json()['run_id'])}/complete`, { token: ALICE });
    await makeRun(porthole, ALICE, { sandbox_id: sandboxId });
  });

  test('refuse the third preview of one person across runs, and leave room for another', async () => {
    const runs = (await porthole.call('GET', '/api/runs', { token: ALICE })).json<{
      runs: { run_id: string; status: string }[];
    }>();
    const [first, second] = runs.runs.filter(({ status }) => status === 'running');
    await startPreview(porthole, first?.run_id ?? '', 3000, ALICE);
    await startPreview(porthole, second?.run_id ?? '', 3000, ALICE);
    const refused = await porthole.call('POST', `/api/runs/${second?.run_id}/sandbox/port-forward`, {
      token: ALICE,
      body: { target_port: 3001 },
    });
    expect(outcome(refused)).toEqual([429, 'quota_exceeded']);
    // Starting a live preview again does not count.
    await startPreview(porthole, first?.run_id ?? '', 3000, ALICE);
    const { used, limits } = (await porthole.call('GET', '/api/quota', { token: ALICE })).json<
      Record<'used' | 'limits', Record<string, number>>
    >();
    expect([used['previews'], limits['previews'], used['runs'], limits['runs']]).toEqual([2, 2, 3, 3]);
    const bobs = await porthole.call('GET', '/api/runs', { token: BOB });
    const [run] = bobs.json<{ runs: { run_id: string }[] }>().runs;
    await startPreview(porthole, run?.run_id ?? '', 3000, BOB);
  });
});
