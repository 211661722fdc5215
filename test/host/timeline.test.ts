import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import type { TimelineEvent } from './support/approvals.ts';
import { serve } from './support/commands.ts';
import { type EventStream, openEventStream } from './support/event-stream.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { type PinnedClock, pinnedClock } from './support/pinned-clock.ts';
import { makeRun, startPreview, stopSandbox, outcome } from './support/runs.ts';

describe("a run's timeline", () => {
  let clock: PinnedClock;
  let porthole: TestHost;
  let sandboxId: string;
  const streams: EventStream[] = [];
  beforeAll(async () => {
    clock = pinnedClock();
    porthole = await startTestHost(PEOPLE, { clock });
    ({ sandboxId } = await makeRun(porthole, ALICE));
  });
  afterEach(() => streams.splice(0).forEach((stream) => stream.leave()));
  afterAll(() => porthole.end());

  /** In one shared sandbox: a new one for each would be slow. */
  const begin = (body: Readonly<Record<string, unknown>> = {}) =>
    makeRun(porthole, ALICE, { sandbox_id: sandboxId, ...body });
  const read = async (runId: string, query = '', token = ALICE) =>
    (await porthole.call('GET', `/api/runs/${runId}/timeline${query}`, { token })).json<{
      events: TimelineEvent[];
      next: string | null;
    }>();
  const follow = async (
    runId: string,
    { token = ALICE, query = '', ...headers }: Record<string, string> = {},
  ) => {
    const stream = await openEventStream(porthole.host.port, `/api/runs/${runId}/events${query}`, {
      authorization: `Bearer ${token}`,
      ...headers,
    });
    streams.push(stream);
    return stream;
  };
  /** The next events, as `id type`; comments in brackets. */
  const take = async (stream: EventStream, count: number) => {
    const taken: string[] = [];
    while (taken.length < count) {
      const frame = await stream.next();
      if (frame === undefined) return [...taken, 'end'];
      if (frame.retry !== undefined) continue;
      taken.push(frame.comment === undefined ? `${frame.id} ${frame.event}` : `(${frame.comment})`);
    }
    return taken;
  };
  const takeTypes = async (stream: EventStream, count: number) => {
    const types: (string | undefined)[] = [];
    while (types.length < count) {
      const frame = await stream.next();
      if (frame === undefined) break;
      if (frame.event !== undefined) types.push(frame.event);
    }
    return types;
  };
  const complete = (runId: string) => porthole.call('POST', `/api/runs/${runId}/complete`, { token: ALICE });
  const wakeAll = async () => {
    // Until the queue is idle: the followers then wait for the clock.
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };

  test('has commands, files and network requests in the activity, live and paged, and who did them', async () => {
    const run = await makeRun(porthole, ALICE);
    const stream = await openEventStream(porthole.host.port, `/api/runs/${run.runId}/activity/events`, {
      authorization: `Bearer ${ALICE}`,
    });
    streams.push(stream);
    expect(await takeTypes(stream, 2)).toEqual(['run.created', 'sandbox.created']);
    const of = `/v1/sandbox/${run.sandboxId}`;
    await porthole.call('POST', `${of}/exec`, {
      token: run.agentToken,
      body: { argv: ['sh', '-c', 'exit 3'] },
    });
    await porthole.call('PUT', `${of}/file/workspace/a.txt`, { token: ALICE, body: 'a' });
    expect(await takeTypes(stream, 2)).toEqual(['command.exited', 'file.written']);
    const get = async (query: string) =>
      (
        await porthole.call('GET', `/api/runs/${run.runId}/activity${query}`, { token: run.agentToken })
      ).json<{
        events: (TimelineEvent & { cursor: string })[];
        next: string | null;
      }>();
    const { events, next } = await get('');
    expect(next).toBeNull();
    expect(events.slice(-2)).toMatchObject([
      {
        id: 's1',
        type: 'command.exited',
        cursor: '2.1',
        data: { command: 'sh -c exit 3', exit_code: 3, by: 'agent', duration_ms: expect.any(Number) },
      },
      { id: 's2', type: 'file.written', data: { path: '/workspace/a.txt', by: 'person', user: 'alice' } },
    ]);
    const first = await get('?limit=2');
    expect(first.events.map(({ id }) => id)).toEqual(['r1', 'r2']);
    const rest = await get(`?after=${first.next ?? ''}`);
    expect(rest.events.map(({ id }) => id)).toEqual(['s1', 's2']);
    const again = await openEventStream(porthole.host.port, `/api/runs/${run.runId}/activity/events`, {
      authorization: `Bearer ${ALICE}`,
      'last-event-id': '2.1',
    });
    streams.push(again);
    expect(await takeTypes(again, 1)).toEqual(['file.written']);
    const refused = await porthole.call('GET', `/api/runs/${run.runId}/activity?after=5`, { token: ALICE });
    expect([refused.status, refused.json()['error']]).toEqual([
      400,
      'after: must be the cursor of an event, got "5".',
    ]);
    await complete(run.runId);
  });

  test('reads the output of commands and processes and the changes of files, for who may view the run', async () => {
    const run = await makeRun(porthole, ALICE);
    const of = `/v1/sandbox/${run.sandboxId}`;
    const stream = await openEventStream(porthole.host.port, `/api/runs/${run.runId}/activity/events`, {
      authorization: `Bearer ${ALICE}`,
    });
    streams.push(stream);
    const awaitEvent = async (type: string) => {
      for (;;) {
        const frame = await stream.next();
        if (frame?.event === type) return (JSON.parse(frame.data ?? '') as TimelineEvent).id;
      }
    };
    const details = async (event: string, token = ALICE) => {
      const path = `/api/runs/${run.runId}/activity/${event}/details`;
      const answer = await porthole.call('GET', path, { token });
      return answer.status === 200 ? answer.json() : [answer.status, answer.json()['code']];
    };
    const exec = (body: object) =>
      porthole.call('POST', `${of}/exec`, { token: run.agentToken, body, headers: {} });
    await exec({ argv: ['sh', '-c', 'echo out; echo oops >&2'], cwd: '/workspace' });
    const command = await awaitEvent('command.exited');
    expect(await details(command)).toEqual({
      output: { first: expect.stringMatching(/^(?:out\noops|oops\nout)\n$/), last: '', omitted_bytes: 0 },
      change: null,
      missing: null,
    });
    await exec({ argv: ['sh', '-c', 'echo begin; head -c 100000 /dev/zero | tr "\\0" x; echo end'] });
    const long = await details(await awaitEvent('command.exited'));
    expect(long).toMatchObject({
      output: {
        first: expect.stringMatching(/^begin\nx+$/),
        last: expect.stringMatching(/x+end\n$/),
        omitted_bytes: 100_010 - 48 * 1024,
      },
    });
    await exec({ argv: ['sh', '-c', `echo Bearer ${run.agentToken}`] });
    const secret = await details(await awaitEvent('command.exited'));
    expect(JSON.stringify(secret)).not.toContain(run.agentToken);
    const file = `${of}/file/workspace/details.txt`;
    const write = async (body: string) => {
      await porthole.call('PUT', file, { token: ALICE, body });
      return details(await awaitEvent('file.written'));
    };
    expect(await write('one\n')).toMatchObject({ change: { before: null, after: 'one\n' }, missing: null });
    expect(await write('two\n')).toMatchObject({ change: { before: 'one\n', after: 'two\n' } });
    expect(await write('\0')).toMatchObject({
      change: null,
      missing: 'The file is not text: its changes are not kept.',
    });
    expect(await write('x'.repeat(131_073))).toMatchObject({
      missing: 'The file is larger than 128 KiB: its changes are not kept.',
    });
    const started = await porthole.call('POST', `${of}/processes`, {
      token: ALICE,
      body: { command: 'echo of the process' },
    });
    expect(started.status).toBe(201);
    const process = await awaitEvent('process.exited');
    expect(await details(process)).toMatchObject({ output: { first: 'of the process\n', omitted_bytes: 0 } });

    expect(await details('r1')).toMatchObject({ missing: 'Porthole records no details of this event.' });
    expect(await details('s999')).toEqual([404, 'not_found']);
    expect(await details('x1')).toEqual([400, 'invalid_request']);
    expect(await details(command, BOB)).toEqual([403, 'foreign_run']);
    expect(await details(command, run.agentToken)).toMatchObject({ missing: null });
    await porthole.call('POST', `${of}/stop`, { token: ALICE, body: {} });
    expect(await details(command)).toMatchObject({
      output: null,
      missing: expect.stringMatching(/^The sandbox does not run/),
    });
    const { state } = (await porthole.call('GET', of, { token: ALICE })).json<{ state: string }>();
    expect(state).toBe('stopped');
  });

  test('tells of the run, its sandbox and its previews, in their order', async () => {
    const run = await makeRun(porthole, ALICE, { title: 'a site' });
    const { session_id, expires_at } = await startPreview(porthole, run.runId, 3000, ALICE);
    clock.advance({ minutes: 1 });
    const keepalive = `/api/runs/${run.runId}/sandbox/preview/${session_id}/keepalive`;
    await porthole.call('POST', keepalive, { token: run.agentToken });
    await porthole.call('DELETE', `/api/runs/${run.runId}/sandbox/port-forward/${session_id}`, {
      token: SERVICE_KEY,
    });
    await stopSandbox(porthole, run.sandboxId);
    await porthole.host.services.records.sandboxes.setDesired(run.sandboxId, 'running');
    await porthole.call('POST', `/v1/sandbox/${run.sandboxId}/exec`, {
      token: ALICE,
      body: { argv: ['true'] },
    });
    await complete(run.runId);
    await porthole.call('DELETE', `/v1/sandbox/${run.sandboxId}`, { token: ALICE });
    const { events, next } = await read(run.runId);
    expect(next).toBeNull();
    expect(events.map(({ id, type }) => `${id} ${type}`)).toEqual([
      '1 run.created',
      '2 sandbox.created',
      '3 preview.opened',
      '4 preview.kept',
      '5 preview.stopped',
      '6 sandbox.stopped',
      '7 sandbox.resumed',
      '8 run.completed',
      '9 sandbox.destroyed',
    ]);
    const fingerprint = events[2]?.data['preview'];
    expect(fingerprint).toMatch(/^[0-9a-f]{8}$/);
    expect(events.map(({ data }) => data)).toEqual([
      { owner: 'alice', title: 'a site', sandbox_id: run.sandboxId, auto_approve_tools: false },
      { sandbox_id: run.sandboxId, image: null },
      { target_port: 3000, preview: fingerprint, expires_at, by: 'owner' },
      { target_port: 3000, preview: fingerprint, expires_at: expect.anything(), by: 'agent' },
      { target_port: 3000, preview: fingerprint, by: 'admin', user: 'service' },
      { sandbox_id: run.sandboxId },
      { sandbox_id: run.sandboxId },
      {},
      { sandbox_id: run.sandboxId },
    ]);
    expect(JSON.stringify(events)).not.toContain(session_id);
  });

  test('tells that traffic keeps a preview alive', async () => {
    const run = await begin();
    const { session_id } = await startPreview(porthole, run.runId, 3456, ALICE);
    await serve(porthole, sandboxId, 3456, 'x', ALICE);
    clock.advance({ minutes: 2 });
    const stream = await follow(run.runId, { 'last-event-id': '2' });
    expect(await take(stream, 1)).toEqual(['3 port.listening']);
    await porthole.call('GET', '/', { host: `${session_id}-preview.localhost:${porthole.host.port}` });
    expect(await take(stream, 1)).toEqual(['4 preview.kept']);
    expect((await read(run.runId, '?after=3')).events[0]?.data).toMatchObject({ by: 'traffic' });
  });

  test('is read in pages', async () => {
    const { runId } = await begin();
    for (const port of [3000, 3001, 3002]) await startPreview(porthole, runId, port, ALICE);
    const first = await read(runId, '?limit=3');
    expect([first.events.map(({ id }) => id), first.next]).toEqual([['1', '2', '3'], '3']);
    // Ports that listen in the sandbox may follow the previews.
    const second = await read(runId, '?after=3');
    expect([second.events[0]?.id, second.next]).toEqual(['4', null]);
    expect(await read(runId, '?after=1000')).toEqual({ events: [], next: null });
  });

  test.each([
    ['?limit=0', 'limit: must be a whole number from 1 to 1000, got "0".'],
    ['?limit=1001', 'limit: must be a whole number from 1 to 1000, got "1001".'],
    ['?after=-1', 'after: must be the id of an event, got "-1".'],
    ['?after=1234567890', 'after: must be the id of an event, got "1234567890".'],
    ['?after=', 'after: must be the id of an event, got "".'],
    ['?after=1e3', 'after: must be the id of an event, got "1e3".'],
  ])('refuses to be read with %s', async (query, error) => {
    const { runId } = await begin();
    const answer = await porthole.call('GET', `/api/runs/${runId}/timeline${query}`, { token: ALICE });
    expect([answer.status, answer.json()]).toEqual([
      400,
      { error, code: 'invalid_request', retryable: false },
    ]);
  });

  test.each(['timeline', 'events'])(
    'shows its %s only to the owner, an admin and the run’s own agent',
    async (what) => {
      const [run, other] = [await begin(), await begin()];
      const ask = async (token: string, id = run.runId) => {
        const stream = await openEventStream(porthole.host.port, `/api/runs/${id}/${what}`, {
          authorization: `Bearer ${token}`,
        });
        stream.leave();
        return stream.status;
      };
      expect([
        await ask(ALICE),
        await ask(ADA_ADMIN),
        await ask(run.agentToken),
        await ask(BOB),
        await ask(other.agentToken),
        await ask(ALICE, 'run_nothere'),
        await ask(ALICE, 'x'.repeat(65)),
      ]).toEqual([200, 200, 200, 403, 403, 404, 400]);
    },
  );

  describe('followed', () => {
    test('gives what was, then what comes, each event whole', async () => {
      const { runId } = await begin();
      const stream = await follow(runId);
      expect([stream.status, stream.headers['content-type'], stream.headers['cache-control']]).toEqual([
        200,
        'text/event-stream',
        'no-cache',
      ]);
      expect(await stream.next()).toEqual({ retry: '1000' });
      expect(await take(stream, 1)).toEqual(['1 run.created']);
      await startPreview(porthole, runId, 3000, ALICE);
      const frame = await stream.next();
      const [, opened] = (await read(runId)).events;
      expect(frame).toEqual({ id: '2', event: 'preview.opened', data: JSON.stringify(opened) });
    });

    test('resumes after Last-Event-ID without a gap or a repeat', async () => {
      const { runId } = await begin();
      for (const port of [3000, 3001, 3002]) await startPreview(porthole, runId, port, ALICE);
      expect(await take(await follow(runId, { 'last-event-id': '2' }), 2)).toEqual([
        '3 preview.opened',
        '4 preview.opened',
      ]);
      expect(await take(await follow(runId, { query: '?after=3' }), 1)).toEqual(['4 preview.opened']);
      const both = await follow(runId, { query: '?after=1', 'last-event-id': '3' });
      expect(await take(both, 1)).toEqual(['4 preview.opened']);
      const latest = await follow(runId, { 'last-event-id': '4' });
      await complete(runId);
      expect(await take(latest, 1)).toEqual(['5 run.completed']);
    });

    test.each(['one', '-1', '1.5', '1234567890'])('refuses the Last-Event-ID %s', async (id) => {
      const { runId } = await begin();
      const answer = await porthole.call('GET', `/api/runs/${runId}/events`, {
        token: ALICE,
        headers: { 'last-event-id': id },
      });
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
    });

    test('says every 15 seconds that it is there', async () => {
      const { runId } = await begin();
      const stream = await follow(runId);
      expect(await take(stream, 1)).toEqual(['1 run.created']);
      for (let round = 0; round < 2; round += 1) {
        await wakeAll();
        clock.advance({ seconds: 15 });
        expect(await take(stream, 1)).toEqual(['(heartbeat)']);
      }
    });

    test('goes on after the run for its owner, and ends with it for its agent', async () => {
      const run = await begin();
      const [owner, agent] = [
        await follow(run.runId, { 'last-event-id': '1' }),
        await follow(run.runId, { 'last-event-id': '1', token: run.agentToken }),
      ];
      await complete(run.runId);
      expect(await take(agent, 2)).toEqual(['2 run.completed', 'end']);
      await startPreview(porthole, run.runId, 3000, ALICE);
      expect(await take(owner, 2)).toEqual(['2 run.completed', '3 preview.opened']);
    });

    test('ends after an hour, to be resumed', async () => {
      const { runId } = await begin();
      const stream = await follow(runId, { 'last-event-id': '1' });
      await stream.next();
      await wakeAll();
      clock.advance({ hours: 1 });
      expect((await take(stream, 2)).at(-1)).toBe('end');
    });

    test('leaves nothing behind when its follower goes away', async () => {
      const { runId } = await begin();
      const stream = await follow(runId);
      await take(stream, 1);
      const finished = porthole.logged.length;
      stream.leave();
      const isLogged = () =>
        porthole.logged.slice(finished).some((line) => line.includes('"operation":"followTimeline"'));
      while (!isLogged()) await new Promise((resolve) => setImmediate(resolve));
    });
  });
});

test('streams end when the host does, within its time to drain', async () => {
  const porthole = await startTestHost();
  const { runId } = await makeRun(porthole);
  const stream = await openEventStream(porthole.host.port, `/api/runs/${runId}/events`);
  while ((await stream.next())?.event !== 'sandbox.created');
  const closing = porthole.end();
  for (let frame = await stream.next(); frame !== undefined; frame = await stream.next())
    expect(frame.event).toMatch(/^sandbox\./);
  await closing;
});
