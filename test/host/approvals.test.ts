import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { reap } from '#handlers/ops/scheduled.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { approvalsAsked, askAndLeave, askForPreview, decide, readTimeline } from './support/approvals.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { type PinnedClock, pinnedClock } from './support/pinned-clock.ts';
import { type MadeRun, makeRun, startPreview, outcome, visit } from './support/runs.ts';

describe('a preview that the agent asks for', () => {
  let clock: PinnedClock;
  let porthole: TestHost;
  let sandboxId: string;
  let run: MadeRun;
  beforeAll(async () => {
    clock = pinnedClock();
    porthole = await startTestHost(PEOPLE, { clock });
    ({ sandboxId } = await makeRun(porthole, ALICE));
  });
  beforeEach(async () => {
    const { plane, records } = porthole.host.services;
    for await (const preview of plane.list()) await plane.close(preview);
    for (const { id } of (await records.policies.list(undefined, { limit: 100 })).items)
      await records.policies.delete(id);
    run = await makeRun(porthole, ALICE, { sandbox_id: sandboxId });
  });
  afterAll(() => porthole.end());

  const ask = (targetPort = 3000, token = run.agentToken, of = run) =>
    askForPreview(porthole, of.runId, token, { target_port: targetPort });
  const asked = async (count = 1, of = run) => {
    const requests = await approvalsAsked(porthole, of.runId, { count, token: ALICE });
    return requests.map(({ data }) => String(data['request_id']));
  };
  const answer = (
    request_id: string | undefined,
    decision: string,
    { token = ALICE, of = run, ...more }: { token?: string; of?: MadeRun; [name: string]: unknown } = {},
  ) => decide(porthole, of.runId, { request_id, decision, ...more }, token);
  const reported = async (of = run) =>
    (await readTimeline(porthole, of.runId, ALICE)).map(({ type }) => type);
  /** Until the timeline has an event of the type. */
  const until = async (type: string) => {
    while (!(await reported()).includes(type)) await new Promise((resolve) => setTimeout(resolve, 10));
  };

  test('opens once the owner approves, and the URL serves', async () => {
    const asking = ask();
    const [request] = await approvalsAsked(porthole, run.runId, { token: run.agentToken });
    const id = String(request?.data['request_id']);
    expect(request?.data).toEqual({
      request_id: id,
      display_id: id.slice(-8),
      tool: 'start_preview',
      target_port: 3000,
      level: 'link',
      message: 'Open a live preview of port 3000? Anyone with the link can see the app.',
      expires_at: new Date(clock.now().getTime() + 300_000).toISOString(),
    });
    const decided = await answer(id, 'approve');
    expect([decided.status, decided.json()]).toEqual([
      200,
      { request_id: id, decision: 'approve', also_approved: [] },
    ]);
    const started = await asking;
    expect(started.status).toBe(200);
    const { session_id, preview_url } = started.json();
    expect(preview_url).toBe(`http://${String(session_id)}-preview.localhost:${porthole.host.port}`);
    expect(outcome(await visit(porthole, String(session_id), porthole.host.port))).toEqual([
      502,
      'nothing_listens',
    ]);
    expect(await reported()).toEqual([
      'run.created',
      'tool.approval_required',
      'tool.approved',
      'preview.opened',
    ]);
  });

  test('is refused once the owner denies, with the reason', async () => {
    const asking = ask();
    const [id] = await asked();
    const decided = await answer(id, 'deny', { reason: '  use port 4000  ' });
    expect([decided.status, decided.json()]).toEqual([
      200,
      { request_id: id, decision: 'deny', also_approved: [] },
    ]);
    const refused = await asking;
    expect(outcome(refused)).toEqual([403, 'approval_denied']);
    expect(refused.json<{ error: string }>().error).toContain(': “use port 4000”. ');
    const denied = (await readTimeline(porthole, run.runId, ALICE)).at(-1);
    expect([denied?.type, denied?.data['reason']]).toEqual(['tool.denied', 'use port 4000']);
  });

  test('is refused after five minutes without a decision, and cannot be decided later', async () => {
    const asking = ask();
    const [id] = await asked();
    let isAnswered = false;
    void asking.then(() => (isAnswered = true));
    clock.advance({ minutes: 4, seconds: 59 });
    await reap(porthole.host.services);
    expect([isAnswered, (await reported()).at(-1)]).toEqual([false, 'tool.approval_required']);
    clock.advance({ seconds: 1 });
    expect(outcome(await asking)).toEqual([403, 'approval_timed_out']);
    expect((await reported()).at(-1)).toBe('tool.timed_out');
    expect(outcome(await answer(id, 'approve'))).toEqual([409, 'approval_decided']);
  });

  test('is decided once: a second decision is 409 and changes nothing', async () => {
    const asking = ask();
    const [id] = await asked();
    await answer(id, 'approve');
    expect((await asking).status).toBe(200);
    const before = await readTimeline(porthole, run.runId, ALICE);
    for (const decision of ['deny', 'approve'])
      expect(outcome(await answer(id, decision, { scope: 'once' }))).toEqual([409, 'approval_decided']);
    expect(outcome(await answer(id, 'approve', { scope: 'always' }))).toEqual([409, 'approval_decided']);
    expect(await readTimeline(porthole, run.runId, ALICE)).toEqual(before);
    const policies = await porthole.call('GET', '/api/approval-policies', { token: ALICE });
    expect(policies.json()).toEqual({ policies: [], next: null });
  });

  test.each<[string, () => string, [number, unknown]]>([
    ['its own agent', () => run.agentToken, [403, 'forbidden']],
    ['another person', () => BOB, [403, 'foreign_run']],
    ['no caller', () => 'no-key-at-all-0123456789', [401, 'unauthorized']],
  ])('is not approved by %s', async (_who, token, expected) => {
    const asking = ask();
    const [id] = await asked();
    expect(outcome(await answer(id, 'approve', { token: token() }))).toEqual(expected);
    expect((await reported()).at(-1)).toBe('tool.approval_required');
    await answer(id, 'deny');
    await asking;
  });

  test.each([
    ['an admin', ADA_ADMIN, 'ada'],
    ['the service', SERVICE_KEY, 'service'],
  ])('is approved by %s, too', async (_who, token, name) => {
    const asking = ask();
    const [id] = await asked();
    expect((await answer(id, 'approve', { token })).status).toBe(200);
    expect((await asking).status).toBe(200);
    const events = await readTimeline(porthole, run.runId, ALICE);
    expect(events.find(({ type }) => type === 'tool.approved')?.data['decided_by']).toBe(name);
  });

  test.each<[string, Record<string, unknown>, [number, string], string]>([
    ['an unknown id', { request_id: 'apr_none' }, [404, 'approval_not_found'], 'has no approval apr_none'],
    ['no id', { request_id: undefined }, [400, 'invalid_request'], 'request_id is missing'],
    [
      'no decision',
      { request_id: 'a', decision: undefined },
      [400, 'invalid_request'],
      'decision is missing',
    ],
    ['another decision', { request_id: 'a', decision: 'maybe' }, [400, 'invalid_request'], 'decision: '],
    ['another scope', { request_id: 'a', scope: 'forever' }, [400, 'invalid_request'], 'scope: '],
    [
      'a denial for the run',
      { request_id: 'a', decision: 'deny', scope: 'run' },
      [400, 'invalid_request'],
      'scope: a denial has the scope once, or always where it is about a host',
    ],
    [
      'too many words',
      { request_id: 'a', reason: 'x'.repeat(501) },
      [400, 'invalid_request'],
      'reason: at most 500 characters',
    ],
    ['a field too many', { request_id: 'a', by: 'me' }, [400, 'invalid_request'], 'unknown field "by"'],
  ])('takes no decision with %s', async (_name, body, expected, says) => {
    const refused = await decide(porthole, run.runId, { decision: 'approve', ...body }, ALICE);
    expect(outcome(refused)).toEqual(expected);
    expect(refused.json<{ error: string }>().error).toContain(says);
  });

  test('is not decided under another run of the same owner', async () => {
    const other = await makeRun(porthole, ALICE, { sandbox_id: sandboxId });
    const asking = ask();
    const [id] = await asked();
    expect(outcome(await answer(id, 'approve', { of: other }))).toEqual([404, 'approval_not_found']);
    await answer(id, 'approve');
    await asking;
  });

  test('asks one question when it is requested twice at the same time, and answers both requests', async () => {
    const both = [ask(), ask(), ask(3000, ALICE)];
    const [id] = await asked();
    await answer(id, 'approve');
    const sessions = (await Promise.all(both)).map((each) => each.json()['session_id']);
    expect(new Set(sessions).size).toBe(1);
    expect((await reported()).filter((type) => type === 'tool.approval_required')).toHaveLength(1);
  });

  test('is withdrawn when its only caller goes away, and asked about anew by the next', async () => {
    const gone = askAndLeave(porthole.host.port, run.runId, run.agentToken, 3000);
    const [id] = await asked();
    gone.leave();
    await until('tool.withdrawn');
    expect(outcome(await answer(id, 'approve'))).toEqual([409, 'approval_decided']);
    const next = ask();
    await answer((await asked(2))[1], 'approve');
    expect((await next).status).toBe(200);
  });

  test('waits on while another caller stays', async () => {
    const gone = askAndLeave(porthole.host.port, run.runId, run.agentToken, 3000);
    const [id] = await asked();
    const stays = ask();
    const before = porthole.logged.length;
    const isOver = () => porthole.logged.slice(before).join('').includes('"status":499');
    const bothWait = async () => {
      while (clock.sleepers < 2 && !isOver()) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    await bothWait();
    gone.leave();
    // Until the remaining waiter is certain to be live.
    for (; !isOver(); await bothWait()) clock.advance({ seconds: 5 });
    expect(await reported()).not.toContain('tool.withdrawn');
    await answer(id, 'approve');
    expect((await stays).status).toBe(200);
  });

  test('asks no question if it would be refused anyway', async () => {
    expect(outcome(await ask(2999))).toEqual([400, 'port_out_of_range']);
    expect(outcome(await ask(0))).toEqual([400, 'invalid_request']);
    const gone = await makeRun(porthole, ALICE);
    await porthole.call('POST', `/v1/sandbox/${gone.sandboxId}/stop`, { token: ALICE });
    expect(outcome(await ask(3000, gone.agentToken, gone))).toEqual([409, 'no_bound_sandbox']);
    await porthole.call('DELETE', `/v1/sandbox/${gone.sandboxId}`, { token: ALICE });
    expect(outcome(await ask(3000, gone.agentToken, gone))).toEqual([401, 'unauthorized']);
    for (const port of [3000, 3001, 3002]) await startPreview(porthole, run.runId, port, ALICE);
    expect(outcome(await ask(3003))).toEqual([429, 'too_many_previews']);
    expect((await ask(3001)).status).toBe(200);
    for (const each of [run, gone]) expect(await reported(each)).not.toContain('tool.approval_required');
  });

  describe('allowed for more than once', () => {
    const policies = async (token = ALICE) =>
      (await porthole.call('GET', '/api/approval-policies', { token })).json<{
        policies: Record<string, unknown>[];
      }>().policies;
    const allow = async (scope: string) => {
      const asking = ask();
      const [id] = await asked();
      expect((await answer(id, 'approve', { scope })).status).toBe(200);
      await asking;
    };
    const sourceOf = async (of = run) =>
      (await readTimeline(porthole, of.runId, ALICE)).findLast(({ type }) => type === 'tool.approved')?.data[
        'source'
      ];

    test('covers this run and no other, if allowed in this run', async () => {
      await allow('run');
      expect((await ask(3001)).status).toBe(200);
      expect(await sourceOf()).toBe('run_policy');
      const other = await makeRun(porthole, ALICE, { sandbox_id: sandboxId });
      const asking = ask(3000, other.agentToken, other);
      await answer((await asked(1, other))[0], 'deny', { of: other });
      await asking;
    });

    test('covers this port in this run, if allowed for a port, and is listed with it', async () => {
      await allow('port');
      const [policy] = await policies();
      expect(policy).toMatchObject({ scope: 'port', run_id: run.runId, target_port: 3000 });
      const other = ask(8080);
      await answer((await asked(2))[1], 'deny');
      expect(outcome(await other)).toEqual([403, 'approval_denied']);
    });

    test('lists what else was approved, if allowed for any port, and never what was denied', async () => {
      const denied = ask(3000);
      await answer((await asked())[0], 'deny');
      await denied;
      const waiting = [ask(3001)];
      await asked(2);
      waiting.push(ask(8080));
      const [, first, second] = await asked(3);
      const decided = await answer(first, 'approve', { scope: 'run' });
      expect(decided.json()).toMatchObject({ also_approved: [second] });
      expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
      const again = ask(3000);
      await answer((await asked(4))[3], 'deny');
      expect(outcome(await again)).toEqual([403, 'approval_denied']);
    });

    test('always covers every run of this owner only', async () => {
      await allow('always');
      const other = await makeRun(porthole, ALICE, { sandbox_id: sandboxId });
      expect((await ask(3000, other.agentToken, other)).status).toBe(200);
      expect(await sourceOf(other)).toBe('always_policy');
      const foreign = await makeRun(porthole, BOB);
      const asking = ask(3000, foreign.agentToken, foreign);
      const [request] = await approvalsAsked(porthole, foreign.runId, { token: BOB });
      await answer(String(request?.data['request_id']), 'deny', { of: foreign, token: BOB });
      await asking;
    });

    test('is listed for its owner and admins, and deleted by them', async () => {
      await allow('run');
      const [policy] = await policies();
      expect(policy).toEqual({
        policy_id: expect.stringMatching(/^pol_[0-9A-Z]{26}$/),
        owner: 'alice',
        tool: 'start_preview',
        scope: 'run',
        run_id: run.runId,
        target_port: null,
        created_at: clock.now().toISOString(),
        created_by: 'alice',
      });
      expect(await policies(BOB)).toEqual([]);
      expect(await policies(ADA_ADMIN)).toEqual([policy]);
      const remove = (token: string) =>
        porthole.call('DELETE', `/api/approval-policies/${String(policy?.['policy_id'])}`, { token });
      expect(outcome(await remove(BOB))).toEqual([404, 'policy_not_found']);
      expect(outcome(await remove(run.agentToken))).toEqual([403, 'forbidden']);
      expect((await remove(ALICE)).status).toBe(204);
      expect(outcome(await remove(ALICE))).toEqual([404, 'policy_not_found']);
      const asking = ask(3001);
      await answer((await asked(2))[1], 'deny');
      expect(outcome(await asking)).toEqual([403, 'approval_denied']);
    });

    test('is listed in pages, newest first', async () => {
      await allow('run');
      clock.advance({ seconds: 1 });
      const first = run;
      run = await makeRun(porthole, ALICE, { sandbox_id: sandboxId });
      await allow('run');
      const page = async (query: string) =>
        (await porthole.call('GET', `/api/approval-policies${query}`, { token: ALICE })).json<{
          policies: { run_id: string }[];
          next: string | null;
        }>();
      const newest = await page('?limit=1');
      expect(newest.policies.map(({ run_id }) => run_id)).toEqual([run.runId]);
      const oldest = await page(`?limit=1&after=${newest.next ?? ''}`);
      expect([oldest.policies.map(({ run_id }) => run_id), oldest.next]).toEqual([[first.runId], null]);
      expect((await porthole.call('GET', '/api/approval-policies?limit=0', { token: ALICE })).status).toBe(
        400,
      );
    });
  });
});

describe('a host that ends while an approval is awaited', () => {
  test('answers at once that the same request is to be sent again, and withdraws nothing', async () => {
    const porthole = await startTestHost();
    const run = await makeRun(porthole);
    const asking = askForPreview(porthole, run.runId, run.agentToken);
    const [request] = await approvalsAsked(porthole, run.runId);
    const { records } = porthole.host.services;
    const id = String(request?.data['request_id']);
    const closing = porthole.end();
    const answer = await asking;
    expect([outcome(answer), answer.headers['retry-after']]).toEqual([[503, 'service_unavailable'], '5']);
    await closing;
    await expect(records.approvals.get(id)).rejects.toMatchObject({
      code: 'service_unavailable',
    });
  });
});
