import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { PREVIEW_TOKEN_PATTERN } from '#protocol/preview-words.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { serve } from './support/commands.ts';
import { decide, readTimeline, type TimelineEvent } from './support/approvals.ts';
import { ALICE, BOB, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { pinnedClock } from './support/pinned-clock.ts';
import { type MadeRun, makeRun, startPreview, outcome, visit } from './support/runs.ts';

const TOKEN = new RegExp(`^${PREVIEW_TOKEN_PATTERN}$`);
const NOWHERE = 'swift-falcon-amber-aaaaaaaaaaaaaaaaaaaaaaaaaa';

describe('the preview routes', () => {
  const clock = pinnedClock();
  let porthole: TestHost;
  let run: MadeRun;
  let other: MadeRun;
  const of = (runId: string) => `/api/runs/${runId}/sandbox`;
  const start = (body: unknown, token: string | undefined = ALICE, runId = run.runId) =>
    porthole.call('POST', `${of(runId)}/port-forward`, { body, ...(token === '' ? {} : { token }) });
  const stop = (session: string, token = ALICE, runId = run.runId) =>
    porthole.call('DELETE', `${of(runId)}/port-forward/${session}`, { token });
  const keepAlive = (session: string, token = ALICE, runId = run.runId) =>
    porthole.call('POST', `${of(runId)}/preview/${session}/keepalive`, { token });
  const list = (token = ALICE, runId = run.runId) =>
    porthole.call('GET', `${of(runId)}/port-forward`, { token });

  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE, { clock });
    run = await makeRun(porthole, ALICE);
    other = await makeRun(porthole, BOB);
  });
  afterEach(async () => {
    const { plane } = porthole.host.services;
    for await (const preview of plane.list()) await plane.close(preview);
  });
  afterAll(() => porthole.end());

  test('start answers the whole DTO in both casings', async () => {
    const answer = await start({ target_port: 3000 });
    const body = answer.json();
    const token = String(body['session_id']);
    const keepalive = `/api/runs/${run.runId}/sandbox/preview/${token}/keepalive`;
    const url = `http://${token}-preview.localhost:${porthole.host.port}`;
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(token).toMatch(TOKEN);
    expect(body).toEqual({
      session_id: token,
      local_port: 0,
      target_port: 3000,
      pod_name: run.sandboxId,
      started_at: '2030-03-01T12:00:00.000Z',
      preview_url: url,
      previewUrl: url,
      keepalive_url: keepalive,
      keepaliveUrl: keepalive,
      expires_at: '2030-03-01T12:30:00.000Z',
      max_until: '2030-03-01T20:00:00.000Z',
      ready: false,
      reason: 'nothing_listens',
    });
  });

  test('start says ready, without a reason, once a server listens', async () => {
    await serve(porthole, run.sandboxId, 3456, 'hello', ALICE);
    const started = await startPreview(porthole, run.runId, 3456, ALICE);
    expect(started).toMatchObject({ ready: true });
    expect(started).not.toHaveProperty('reason');
    const page = await visit(porthole, started.session_id, porthole.host.port);
    expect([page.status, page.text]).toEqual([200, 'hello']);
  });

  test.each([
    ['target_port', { target_port: 3001 }],
    ['targetPort, as legacy clients spell it', { targetPort: 3001 }],
    ['the lowest port', { target_port: 3000 }],
    ['the highest port', { target_port: 9000 }],
  ])('start takes %s', async (_name, body) => {
    expect((await start(body)).status).toBe(200);
  });

  test('return the same URL on a second start and move the expiry, never the maximum', async () => {
    const first = await startPreview(porthole, run.runId, 3000, ALICE);
    clock.advance({ minutes: 10 });
    const second = await startPreview(porthole, run.runId, 3000, ALICE);
    expect(second.session_id).toBe(first.session_id);
    expect(second.started_at).toBe(first.started_at);
    expect(Date.parse(second.expires_at ?? '') - Date.parse(first.expires_at ?? '')).toBe(600_000);
    expect(second.max_until).toBe(first.max_until);
  });

  test('give each port of a run, and each run, a different URL', async () => {
    const sessions = [
      await startPreview(porthole, run.runId, 3000, ALICE),
      await startPreview(porthole, run.runId, 3001, ALICE),
      await startPreview(porthole, other.runId, 3000, BOB),
    ].map(({ session_id }) => session_id);
    expect(new Set(sessions).size).toBe(3);
  });

  test('rotate ends the present URL and opens another one', async () => {
    const first = await startPreview(porthole, run.runId, 3000, ALICE);
    const second = await startPreview(porthole, run.runId, 3000, ALICE, { rotate: true });
    expect(second.session_id).not.toBe(first.session_id);
    expect((await list()).json<unknown[]>()).toHaveLength(1);
    expect(outcome(await visit(porthole, first.session_id, porthole.host.port))).toEqual([410, 'stopped']);
    expect(outcome(await visit(porthole, second.session_id, porthole.host.port))).toEqual([
      502,
      'nothing_listens',
    ]);
  });

  test('give one session for 32 simultaneous starts of one port', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 32 }, () => startPreview(porthole, run.runId, 3000, ALICE)),
    );
    expect(new Set(sessions.map(({ session_id }) => session_id)).size).toBe(1);
    expect((await list()).json<unknown[]>()).toHaveLength(1);
  });

  test('refuse the fourth preview of a run, and serve nothing for the refused one', async () => {
    for (const port of [3000, 3001, 3002]) await startPreview(porthole, run.runId, port, ALICE);
    const fourth = await start({ target_port: 3003 });
    expect(outcome(fourth)).toEqual([429, 'too_many_previews']);
    expect(fourth.json()).toEqual({
      error: `Run ${run.runId} already has 3 live previews, the maximum of a run: stop one first.`,
      code: 'too_many_previews',
      retryable: true,
      remedy: 'Stop one first.',
    });
    expect(fourth.headers['retry-after']).toBe('5');
    expect((await list()).json<{ target_port: number }[]>().map((each) => each.target_port)).toEqual([
      3000, 3001, 3002,
    ]);
    // A live preview is still returned, and a stopped one frees its slot.
    const again = await startPreview(porthole, run.runId, 3002, ALICE);
    await stop(again.session_id);
    expect((await start({ target_port: 3003 })).status).toBe(200);
  });

  test('leave exactly three previews after simultaneous starts of five ports', async () => {
    const answers = await Promise.all(
      [3000, 3001, 3002, 3003, 3004].map((port) => start({ target_port: port })),
    );
    const statuses = answers.map(({ status }) => status).sort((a, b) => a - b);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    expect((await list()).json<unknown[]>()).toHaveLength(3);
  });

  describe('the order of checks', () => {
    const BAD = { target_port: 'x' };
    const OUT_OF_RANGE = { target_port: 2999 };
    const own = () => run.runId;
    test.each<[what: string, token: string, runId: () => string, body: object, status: number, code: string]>(
      [
        ['no caller, with a bad body', '', own, BAD, 401, 'unauthorized'],
        [
          'a wrong key on an own run',
          'wrong-key-0123456789',
          own,
          { target_port: 3000 },
          401,
          'unauthorized',
        ],
        ['a body that is not of the schema, on a foreign run', BOB, own, BAD, 400, 'invalid_request'],
        ['an unreadable run id', ALICE, () => 'run%20x', OUT_OF_RANGE, 400, 'invalid_run_id'],
        ['an unknown run', ALICE, () => 'run_nothere', OUT_OF_RANGE, 404, 'run_not_found'],
        ['a foreign run', BOB, own, OUT_OF_RANGE, 403, 'foreign_run'],
        ['an own run', ALICE, own, OUT_OF_RANGE, 400, 'port_out_of_range'],
      ],
    )('%s', async (_name, token, runId, body, ...expected) => {
      expect(outcome(await start(body, token, runId()))).toEqual(expected);
    });

    test('reports a port out of range before a missing sandbox, and that before the cap', async () => {
      const doomed = await makeRun(porthole, ALICE);
      for (const port of [3000, 3001, 3002]) await startPreview(porthole, doomed.runId, port, ALICE);
      const gone = await porthole.call('DELETE', `/v1/sandbox/${doomed.sandboxId}`, { token: ALICE });
      expect(gone.status).toBe(204);
      expect(outcome(await start({ target_port: 9001 }, ALICE, doomed.runId))).toEqual([
        400,
        'port_out_of_range',
      ]);
      expect(outcome(await start({ target_port: 3003 }, ALICE, doomed.runId))).toEqual([
        409,
        'no_bound_sandbox',
      ]);
    });
  });

  describe('keepalive', () => {
    test('moves the expiry one idle window on, and says the token', async () => {
      const { session_id } = await startPreview(porthole, run.runId, 3000, ALICE);
      clock.advance({ minutes: 20 });
      const kept = await keepAlive(session_id);
      expect(kept.status).toBe(200);
      expect(kept.json()).toEqual({
        token: session_id,
        kept_alive: true,
        expires_at: new Date(clock.now().getTime() + 30 * 60_000).toISOString(),
      });
    });

    test('never moves the expiry past the maximum', async () => {
      const { session_id, max_until } = await startPreview(porthole, run.runId, 3000, ALICE);
      clock.advance({ hours: 7, minutes: 50 });
      expect((await keepAlive(session_id)).json()).toMatchObject({ expires_at: max_until });
    });

    test('refuses a foreign run, an unknown run, an unknown token and a token in capitals', async () => {
      const { session_id } = await startPreview(porthole, run.runId, 3000, ALICE);
      expect(outcome(await keepAlive(session_id, BOB))).toEqual([403, 'foreign_run']);
      expect(outcome(await keepAlive(NOWHERE, ALICE, 'run_nothere'))).toEqual([404, 'run_not_found']);
      for (const token of [NOWHERE, session_id.toUpperCase()])
        expect(outcome(await keepAlive(token))).toEqual([404, 'preview_not_found']);
    });

    test('does not move the expiry of another run with the token of that run', async () => {
      const foreign = await startPreview(porthole, other.runId, 3000, BOB);
      clock.advance({ minutes: 5 });
      await keepAlive(foreign.session_id);
      expect((await list(BOB, other.runId)).json<unknown[]>()).toMatchObject([
        { expires_at: foreign.expires_at },
      ]);
    });
  });

  describe('stop', () => {
    test('answers the session, revokes the URL, and the next start has a new one', async () => {
      const first = await startPreview(porthole, run.runId, 3000, ALICE);
      const stopped = await stop(first.session_id);
      expect(stopped.status).toBe(200);
      expect(stopped.json()).toEqual({ session_id: first.session_id, stopped: true });
      expect(outcome(await visit(porthole, first.session_id, porthole.host.port))).toEqual([410, 'stopped']);
      const second = await startPreview(porthole, run.runId, 3000, ALICE);
      expect(second.session_id).not.toBe(first.session_id);
      expect(outcome(await visit(porthole, first.session_id, porthole.host.port))).toEqual([410, 'stopped']);
      expect(outcome(await keepAlive(first.session_id))).toEqual([404, 'preview_not_found']);
    });

    test('answers 404 the second time', async () => {
      const { session_id } = await startPreview(porthole, run.runId, 3000, ALICE);
      await stop(session_id);
      expect(outcome(await stop(session_id))).toEqual([404, 'preview_not_found']);
    });

    test('refuses a foreign and an unknown run, and leaves the preview alone', async () => {
      const { session_id } = await startPreview(porthole, run.runId, 3000, ALICE);
      expect(outcome(await stop(session_id, BOB))).toEqual([403, 'foreign_run']);
      expect(outcome(await stop(session_id, ALICE, 'run_nothere'))).toEqual([404, 'run_not_found']);
      expect((await list()).json<unknown[]>()).toHaveLength(1);
    });
  });

  describe('list', () => {
    test('answers the whole DTO of each live preview of the run, oldest first', async () => {
      const first = await startPreview(porthole, run.runId, 3005, ALICE);
      clock.advance({ seconds: 1 });
      const second = await startPreview(porthole, run.runId, 3000, ALICE);
      await startPreview(porthole, other.runId, 3000, BOB);
      const withoutReadiness = ({ ready: _ready, reason: _reason, ...dto }: typeof first) => dto;
      expect((await list()).json()).toEqual([withoutReadiness(first), withoutReadiness(second)]);
    });

    test('refuses a foreign, an unknown and an unreadable run', async () => {
      expect(outcome(await list(BOB))).toEqual([403, 'foreign_run']);
      expect(outcome(await list(ALICE, 'run_nothere'))).toEqual([404, 'run_not_found']);
      expect(outcome(await list(ALICE, 'x'.repeat(65)))).toEqual([400, 'invalid_run_id']);
    });
  });

  describe('the agent’s route', () => {
    const startAsAgent = (token: string, runId: string, body: unknown = { target_port: 3000 }) =>
      porthole.call('POST', `${of(runId)}/preview`, { body, token });

    test.each<[string, () => string]>([
      ['the owner', () => ALICE],
      ['the run’s own agent', () => run.agentToken],
    ])('lets %s wait for an approval while nothing approves', async (_name, token) => {
      const before = (await readTimeline(porthole, run.runId, ALICE)).length;
      const asking = startAsAgent(token(), run.runId);
      let request: TimelineEvent | undefined;
      while (request === undefined) {
        const events = (await readTimeline(porthole, run.runId, ALICE)).slice(before);
        request = events.find(({ type }) => type === 'tool.approval_required');
      }
      expect((await list()).json()).toEqual([]);
      await decide(porthole, run.runId, { request_id: request.data['request_id'], decision: 'deny' }, ALICE);
      expect(outcome(await asking)).toEqual([403, 'approval_denied']);
    });

    test('checks the port before the approval', async () => {
      expect(outcome(await startAsAgent(run.agentToken, run.runId, { target_port: 2999 }))).toEqual([
        400,
        'port_out_of_range',
      ]);
    });

    describe('of a run that approves its tools', () => {
      let approved: MadeRun;
      beforeAll(async () => {
        approved = await makeRun(porthole, ALICE, { auto_approve_tools: true });
      });

      test.each<[string, () => string, number]>([
        ['the owner', () => ALICE, 200],
        ['an admin, the service', () => SERVICE_KEY, 200],
        ['the run’s own agent', () => approved.agentToken, 200],
        ['another person', () => BOB, 403],
        ['the agent of another run', () => run.agentToken, 403],
      ])('%s gets %#', async (_name, token, status) => {
        expect((await startAsAgent(token(), approved.runId)).status).toBe(status);
      });

      test('owner and agent get the same URL', async () => {
        const byAgent = (await startAsAgent(approved.agentToken, approved.runId)).json();
        const byOwner = await startPreview(porthole, approved.runId, 3000, ALICE);
        expect(byAgent['session_id']).toBe(byOwner.session_id);
      });

      test('answers 404 for an unknown run', async () => {
        expect(outcome(await startAsAgent(ALICE, 'run_nothere'))).toEqual([404, 'run_not_found']);
      });

      test('rejects the agent’s token once the run completes', async () => {
        const ended = await makeRun(porthole, ALICE, { auto_approve_tools: true });
        await porthole.call('POST', `/api/runs/${ended.runId}/complete`, { token: ALICE });
        expect(outcome(await startAsAgent(ended.agentToken, ended.runId))).toEqual([401, 'unauthorized']);
      });
    });
  });

  test('keep the preview of a completed run, and let its owner start another one', async () => {
    const ended = await makeRun(porthole, ALICE);
    const { session_id } = await startPreview(porthole, ended.runId, 3000, ALICE);
    await porthole.call('POST', `/api/runs/${ended.runId}/complete`, { token: ALICE });
    expect((await keepAlive(session_id, ALICE, ended.runId)).status).toBe(200);
    expect((await start({ target_port: 3001 }, ALICE, ended.runId)).status).toBe(200);
  });
});

describe('the installation’s own settings', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({
      SANDBOX_PREVIEW_AUTO_APPROVE: 'true',
      Sandbox__Preview__MaxTotal: '2',
      Sandbox__Preview__AllowedPortMin: '4000',
      Sandbox__Preview__AllowedPortMax: '4010',
      Sandbox__Preview__ZoneSuffix: 'previews.example.test',
      PORTHOLE_PUBLIC_URL: 'https://porthole.example.test',
    });
  });
  afterAll(() => porthole.end());

  test('SANDBOX_PREVIEW_AUTO_APPROVE opens the agent’s route, the zone and the public URL form the URL', async () => {
    const run = await makeRun(porthole);
    const answer = await porthole.call('POST', `/api/runs/${run.runId}/sandbox/preview`, {
      body: { target_port: 4000 },
      token: run.agentToken,
    });
    const { session_id, preview_url } = answer.json();
    expect(answer.status).toBe(200);
    expect(preview_url).toBe(`https://${String(session_id)}-preview.previews.example.test`);
  });

  test.each([
    ['below its own range', 3999],
    ['above its own range', 4011],
  ])('refuses a port %s', async (_name, port) => {
    const run = await makeRun(porthole);
    const answer = await porthole.call('POST', `/api/runs/${run.runId}/sandbox/port-forward`, {
      body: { target_port: port },
    });
    expect(outcome(answer)).toEqual([400, 'port_out_of_range']);
    expect(answer.json<{ error: string }>().error).toBe(
      `preview port must be between 4000 and 4010, got ${port}: start the server on a port in that range.`,
    );
  });

  test('MaxTotal caps the previews of all runs together', async () => {
    const { plane } = porthole.host.services;
    for await (const preview of plane.list()) await plane.close(preview);
    for (const port of [4000, 4001]) await startPreview(porthole, (await makeRun(porthole)).runId, port);
    const third = await makeRun(porthole);
    const answer = await porthole.call('POST', `/api/runs/${third.runId}/sandbox/port-forward`, {
      body: { target_port: 4000 },
    });
    expect(outcome(answer)).toEqual([429, 'too_many_previews']);
    expect(answer.json<{ error: string }>().error).toBe(
      'All 2 previews of this installation are in use: stop one first.',
    );
  });
});
