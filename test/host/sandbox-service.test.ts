import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { execute, serve } from './support/commands.ts';
import { pinnedClock, type PinnedClock } from './support/pinned-clock.ts';
import { makeRun, startPreview } from './support/runs.ts';

interface Sandbox {
  readonly id: string;
  readonly state: string;
  readonly stopped_at: string | null;
}

const outcome = (answer: Answer) => [answer.status, answer.json<{ code: string }>().code];

describe('sandboxes as a service', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({
      ...PEOPLE,
      PORTHOLE_QUOTAS: JSON.stringify({ default: { sandboxes: null }, users: { bob: { sandboxes: 3 } } }),
    });
  }, 60_000);
  afterAll(() => porthole.end(), 60_000);

  const create = (body: object = {}, token = ALICE) => porthole.call('POST', '/v1/sandbox', { body, token });
  const id = async (body: object = {}, token = ALICE) => (await create(body, token)).json<Sandbox>().id;
  const get = (sandbox: string, token = ALICE) => porthole.call('GET', `/v1/sandbox/${sandbox}`, { token });
  const act = (sandbox: string, what: string, token = ALICE) =>
    porthole.call('POST', `/v1/sandbox/${sandbox}/${what}`, { token });
  const list = async (query: string, token = ALICE) =>
    (await porthole.call('GET', `/v1/sandbox?${query}`, { token }))
      .json<{ sandboxes: Sandbox[] }>()
      .sandboxes.map((each) => each.id);

  describe('a session key', () => {
    test('gives 50 who ask at once one sandbox, which runs', async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => create({ session_key: 'fifty' })));
      expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]));
      const ids = new Set(answers.map((answer) => answer.json<Sandbox>().id));
      expect(ids.size).toBe(1);
      expect((await get([...ids][0] ?? '')).json()).toMatchObject({ state: 'running', session_key: 'fifty' });
    });

    test('is its owner’s own', async () => {
      expect(await id({ session_key: 'mine' }, BOB)).not.toBe(await id({ session_key: 'mine' }));
    });

    test('brings a stopped sandbox back, with its files', async () => {
      const sandbox = await id({ session_key: 'back' });
      await porthole.call('PUT', `/v1/sandbox/${sandbox}/file/workspace/kept`, {
        token: ALICE,
        body: 'kept',
      });
      await act(sandbox, 'stop');
      expect(await id({ session_key: 'back' })).toBe(sandbox);
      expect((await get(sandbox)).json()).toMatchObject({ state: 'running', stopped_at: null });
      expect((await execute(porthole, sandbox, ['cat', 'kept'], { token: ALICE })).stdout.toString()).toBe(
        'kept',
      );
    });

    test('names a fresh one after a delete', async () => {
      const sandbox = await id({ session_key: 'fresh' });
      await porthole.call('DELETE', `/v1/sandbox/${sandbox}`, { token: ALICE });
      expect(await id({ session_key: 'fresh' })).not.toBe(sandbox);
    });
  });

  test('keeps a name unique among one user’s sandboxes, and names the sandbox that has it in the refusal', async () => {
    const sandbox = await id({ name: 'build' });
    const again = await create({ name: 'build' });
    expect(outcome(again)).toEqual([409, 'sandbox_exists']);
    expect(again.json<{ error: string }>().error).toContain(sandbox);
    expect(again.json()).toMatchObject({ sandbox_id: sandbox });
    expect((await create({ name: 'build' }, BOB)).status).toBe(200);
  });

  test('is stopped and resumed, again and again, and keeps its files', async () => {
    const sandbox = await id();
    await porthole.call('PUT', `/v1/sandbox/${sandbox}/file/workspace/kept`, { token: ALICE, body: 'kept' });
    for (let round = 0; round < 2; round += 1) {
      expect((await act(sandbox, 'stop')).json()).toMatchObject({
        state: 'stopped',
        desired_state: 'stopped',
      });
    }
    expect((await porthole.call('GET', `/v1/sandbox/${sandbox}/running`, { token: ALICE })).json()).toEqual({
      running: false,
    });
    for (let round = 0; round < 2; round += 1) {
      expect((await act(sandbox, 'resume')).json()).toMatchObject({ state: 'running', stopped_at: null });
    }
    expect((await execute(porthole, sandbox, ['cat', 'kept'], { token: ALICE })).stdout.toString()).toBe(
      'kept',
    );
  });

  test.each([
    ['after a resume that failed', 'stopped'],
    ['after it died by itself', 'running'],
  ] as const)('resumes one that is wanted to run and does not, %s', async (_when, observed) => {
    const sandbox = await id();
    const { records, sandboxes } = porthole.host.services;
    await sandboxes.stop(sandbox);
    await records.sandboxes.setObserved(sandbox, observed);
    const answer = await act(sandbox, 'resume');
    expect([answer.status, answer.json()]).toMatchObject([200, { state: 'running' }]);
    expect(await sandboxes.inspect(sandbox)).toMatchObject({ state: 'running' });
  });

  test('resumes a stopped sandbox first when it is asked to run something', async () => {
    const sandbox = await id();
    await act(sandbox, 'stop');
    expect((await execute(porthole, sandbox, ['echo', 'up'], { token: ALICE })).stdout.toString()).toBe(
      'up\n',
    );
    await act(sandbox, 'stop');
    const read = await porthole.call('GET', `/v1/sandbox/${sandbox}/file/workspace/none`, { token: ALICE });
    expect(read.status).toBe(404);
    expect((await get(sandbox)).json()).toMatchObject({ state: 'running' });
  });

  test('refuses to start a preview of a stopped sandbox', async () => {
    const run = await makeRun(porthole, ALICE);
    await act(run.sandboxId, 'stop');
    const answer = await porthole.call('POST', `/api/runs/${run.runId}/sandbox/port-forward`, {
      token: ALICE,
      body: { target_port: 3000 },
    });
    expect(outcome(answer)).toEqual([409, 'no_bound_sandbox']);
  });

  test('lists are one’s own, filtered by state, name, session and tag', async () => {
    const tagged = await id({ tags: { thread_id: 't1', team: 'a' }, name: 'listed', session_key: 'listed' });
    const other = await id({ tags: { thread_id: 't1' } });
    await act(other, 'stop');
    expect(await list('tag=thread_id:t1')).toEqual([other, tagged]);
    expect(await list('tag=thread_id:t1&state=stopped')).toEqual([other]);
    expect(await list('tag=team:a')).toEqual([tagged]);
    expect(await list('name=listed')).toEqual([tagged]);
    expect(await list('session_key=listed')).toEqual([tagged]);
    expect(await list('tag=thread_id:t1', BOB)).toEqual([]);
    expect(await list('tag=thread_id:t1', ADA_ADMIN)).toEqual([other, tagged]);
    expect(await list('limit=1')).toHaveLength(1);
  });

  describe('deleted', () => {
    const token = ALICE;
    const url = (answer: Answer) => answer.json<{ url: string }>().url;
    const seen = async (address: string) =>
      (await porthole.call('GET', '/', { host: new URL(address).host })).status;

    test('takes its previews and tunnels with it: their URLs show nothing of the sandbox that has its id next', async () => {
      const sandbox = await id();
      const tunnel = url(await porthole.call('POST', `/v1/sandbox/${sandbox}/tunnel/3000`, { token }));
      const run = await makeRun(porthole, ALICE, { sandbox_id: sandbox });
      const { preview_url } = await startPreview(porthole, run.runId, 3001, ALICE);
      await porthole.call('DELETE', `/v1/sandbox/${sandbox}`, { token });
      expect([await seen(tunnel), await seen(preview_url ?? '')]).toEqual([410, 410]);
      await serve(porthole, sandbox, 3000, 'fresh', ALICE);
      const next = url(await porthole.call('POST', `/v1/sandbox/${sandbox}/tunnel/3000`, { token }));
      expect(next).not.toBe(tunnel);
      expect([await seen(tunnel), await seen(next)]).toEqual([410, 200]);
    });

    test('ends its runs: an agent’s token is worth nothing in the sandbox that has its id next', async () => {
      const run = await makeRun(porthole, ALICE);
      await porthole.call('DELETE', `/v1/sandbox/${run.sandboxId}`, { token });
      await execute(porthole, run.sandboxId, ['true'], { token });
      const asAgent = porthole.call('GET', `/v1/sandbox/${run.sandboxId}/running`, { token: run.agentToken });
      expect((await asAgent).status).toBe(401);
      const reported = await porthole.call('GET', `/api/runs/${run.runId}`, { token });
      expect(reported.json<{ status: string }>().status).toBe('completed');
    });
  });

  test('shows the run of the tunnels to nothing inside the sandbox', async () => {
    const sandbox = await id();
    await porthole.call('POST', `/v1/sandbox/${sandbox}/tunnel/3000`, { token: ALICE });
    await act(sandbox, 'stop');
    await act(sandbox, 'resume');
    const { stdout } = await execute(
      porthole,
      sandbox,
      ['sh', '-c', 'ls -A ~/.porthole/runs 2>/dev/null | wc -l'],
      { token: ALICE },
    );
    expect(stdout.toString().trim()).toBe('0');
  });

  test('uploads that are cut off at any moment leave the host up', async () => {
    const sandbox = await id();
    for (let round = 0; round < 60; round += 1) {
      const socket = connect(porthole.host.port, '127.0.0.1');
      const path = round % 2 === 0 ? 'file/workspace/cut' : 'hydrate';
      const method = round % 2 === 0 ? 'PUT' : 'POST';
      const length = round % 3 === 0 ? 'Transfer-Encoding: chunked' : 'Content-Length: 100';
      const body = round % 3 === 0 ? '5\r\nhelloXX' : 'hel';
      socket.on('error', () => undefined);
      socket.write(
        `${method} /v1/sandbox/${sandbox}/${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ALICE}\r\n${length}\r\n\r\n${body}`,
      );
      await new Promise((resolve) => setTimeout(resolve, round % 6));
      socket.destroy();
    }
    expect((await porthole.call('GET', '/health')).status).toBe(200);
    expect(
      (await execute(porthole, sandbox, ['ls', '-A', '/workspace/cut'], { token: ALICE })).exitCode,
    ).toBe(2);
  });

  test('answers 404 when an unknown sandbox is read, stopped or resumed, and does not create it', async () => {
    const unknown = 'b'.repeat(26);
    for (const answer of [await get(unknown), await act(unknown, 'stop'), await act(unknown, 'resume')]) {
      expect(outcome(answer)).toEqual([404, 'sandbox_not_found']);
    }
    expect(await porthole.host.services.records.sandboxes.get(unknown)).toBeUndefined();
  });

  test.each([
    ['a session key that is empty', { session_key: '' }],
    ['a session key that is too long', { session_key: 's'.repeat(257) }],
    ['a name with a slash', { name: 'a/b' }],
    ['a tag with a space', { tags: { 'a b': 'c' } }],
    ['a tag that is a number', { tags: { a: 1 } }],
    ['a tag with a NUL character', { tags: { a: '\0' } }],
    ['a tag with half a character', { tags: { a: '\ud800' } }],
    ['a session key with half a character', { session_key: '\udc00' }],
    ['a ttl below 10 seconds', { ttl_seconds: 9 }],
    ['a ttl beyond a week', { ttl_seconds: 604_801 }],
    ['a ttl of half a second more', { ttl_seconds: 60.5 }],
    ['a ttl that is a text', { ttl_seconds: '60' }],
    ['33 tags', { tags: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`t${at}`, ''])) }],
  ])('%s is refused, and nothing is made', async (_what, body) => {
    const before = await list('limit=1000');
    expect(outcome(await create(body))).toEqual([400, 'invalid_request']);
    expect(await list('limit=1000')).toEqual(before);
  });

  test.each([
    [
      { tags: { 'a\nb': 'c' } },
      'tags: a tag must be 1 to 63 letters, digits, "_", "." or "-", beginning with a letter or digit, got "a\\nb".',
    ],
    [
      { tags: { 'a:b': 'c' } },
      'tags: a tag must be 1 to 63 letters, digits, "_", "." or "-", beginning with a letter or digit, got "a:b".',
    ],
    [{ env: { PIN: 4711 } }, 'env.PIN: must be a string.'],
  ])('%j is named by its key, never by the value of a variable', async (body, error) => {
    expect((await create(body)).json()).toEqual({ code: 'invalid_request', error, retryable: false });
  });

  describe('a quota', () => {
    beforeAll(async () => {
      for (const sandbox of await list('limit=1000', BOB)) {
        await porthole.call('DELETE', `/v1/sandbox/${sandbox}`, { token: BOB });
      }
    });

    test('holds against 20 at once, and names what is used and allowed', async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => create({}, BOB)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
      const refused = answers.find(({ status }) => status === 429);
      expect(refused?.json()).toEqual({
        code: 'quota_exceeded',
        retryable: true,
        error: expect.stringMatching(
          /^You have 3 of the 3 sandboxes of your quota, and this takes 1 sandbox more: stop or delete a sandbox, such as \w+ \(.*\), \w+ \(.*\) and \w+ \(.*\), or let an administrator raise PORTHOLE_QUOTAS\.$/,
        ),
      });
    });

    test('counts first uses and runs as well, and not what is stopped', async () => {
      const use = porthole.call('GET', `/v1/sandbox/${'c'.repeat(26)}/running`, { token: BOB });
      expect(outcome(await use)).toEqual([429, 'quota_exceeded']);
      expect(outcome(await porthole.call('POST', '/api/runs', { token: BOB, body: {} }))).toEqual([
        429,
        'quota_exceeded',
      ]);
      const [first = ''] = await list('', BOB);
      await act(first, 'stop', BOB);
      expect((await create({}, BOB)).status).toBe(200);
    });

    test('applies to no other user', async () => {
      const made = await Promise.all(Array.from({ length: 5 }, () => id({}, SERVICE_KEY)));
      expect(new Set(made).size).toBe(5);
    });
  });
});

describe('the lifecycle, by the clock', () => {
  let porthole: TestHost;
  let clock: PinnedClock;
  beforeAll(async () => {
    clock = pinnedClock();
    porthole = await startTestHost({ SANDBOX_RETENTION_HOURS: '1' }, { clock });
  }, 60_000);
  afterAll(() => porthole.end(), 60_000);
  const pass = () => porthole.host.lifecycle();
  const stateOf = async (sandbox: string) =>
    (await porthole.call('GET', `/v1/sandbox/${sandbox}`)).json<Sandbox>().state;

  test('stops an idle sandbox, keeps it for its retention, and then destroys it', async () => {
    const { id } = (await porthole.call('POST', '/v1/sandbox')).json<Sandbox>();
    clock.advance({ minutes: 29 });
    await pass();
    expect(await stateOf(id)).toBe('running');
    await execute(porthole, id, ['true']);
    clock.advance({ minutes: 29 });
    await pass();
    expect(await stateOf(id)).toBe('running');
    clock.advance({ minutes: 2 });
    await pass();
    expect(await stateOf(id)).toBe('stopped');
    clock.advance({ minutes: 59 });
    await pass();
    expect(await stateOf(id)).toBe('stopped');
    clock.advance({ minutes: 2 });
    await pass();
    expect((await porthole.call('GET', `/v1/sandbox/${id}`)).status).toBe(404);
    expect((await porthole.host.services.sandboxes.inspect(id)).state).toBe('absent');
  });

  test('counts traffic of a preview as use', async () => {
    const run = await makeRun(porthole);
    // Each request has a separate connection: an open one counts by the minute of a real clock.
    const server = `require('node:http').createServer((q, r) => r.setHeader('connection', 'close').end('hi')).listen(3000, () => require('node:fs').writeFileSync('up', ''))`;
    await execute(porthole, run.sandboxId, [
      'sh',
      '-c',
      'node -e "$1" >/dev/null 2>&1 & while [ ! -e up ]; do sleep 0.02; done',
      'sh',
      server,
    ]);
    const { preview_url } = await startPreview(porthole, run.runId, 3000);
    for (let round = 0; round < 3; round += 1) {
      clock.advance({ minutes: 20 });
      await porthole.call('GET', '/', { host: new URL(preview_url ?? '').host });
      await pass();
      expect(await stateOf(run.sandboxId)).toBe('running');
    }
    clock.advance({ minutes: 31 });
    await pass();
    expect(await stateOf(run.sandboxId)).toBe('stopped');
  });
});
