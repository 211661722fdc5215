import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { get, type IncomingMessage, request } from 'node:http';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { ADA_ADMIN, ALICE, BOB, CAROL, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { pinnedClock } from './support/pinned-clock.ts';
import { makeRun, startPreview, outcome } from './support/runs.ts';

describe('limits of requests', () => {
  let porthole: TestHost;
  let id: string;
  let runId: string;
  beforeAll(async () => {
    porthole = await startTestHost({
      ...PEOPLE,
      PORTHOLE_REQUEST_LIMITS: JSON.stringify({
        heavy: { per_owner: 1, total: 2, waiting: 3 },
        stream: { per_owner: 2 },
        wrong_secrets_per_minute: 5,
      }),
    });
    ({ sandboxId: id, runId } = await makeRun(porthole, ALICE));
  });
  afterAll(() => porthole.end());

  const open = async (path: string, token: string) => {
    const outgoing = get(`${porthole.host.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.on('error', () => undefined).resume();
    return response;
  };

  test('refuse the third event stream of one owner with Retry-After, and free the place of a closed one', async () => {
    const streams = [
      await open(`/v1/sandbox/${id}/events`, ALICE),
      await open(`/api/runs/${runId}/events`, ALICE),
    ];
    expect(streams.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    const refused = await porthole.call('GET', '/api/approvals/events', { token: ALICE });
    expect(outcome(refused)).toEqual([429, 'too_many_requests']);
    expect(refused.headers['retry-after']).toBe('5');
    const bobs = await open('/api/approvals/events', BOB);
    expect(bobs.statusCode).toBe(200);
    for (const stream of [...streams, bobs]) stream.destroy();
    let status: number | undefined = 429;
    while (status === 429) {
      const again = await open('/api/approvals/events', ALICE);
      status = again.statusCode;
      again.destroy();
    }
    expect(status).toBe(200);
  });

  test('let listings wait for their turn, and refuse what is too much to wait', async () => {
    const list = (): Promise<Answer> => porthole.call('GET', `/v1/sandbox/${id}/files`, { token: ALICE });
    const answers = await Promise.all(Array.from({ length: 12 }, list));
    const statuses = answers.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(4);
    expect((await list()).status).toBe(200);
  });

  test('give all agents of an owner separate slots, so that they cannot lock the owner out', async () => {
    const runs = [await makeRun(porthole, ALICE), await makeRun(porthole, ALICE)];
    const streams = await Promise.all(
      runs.map((run) => open(`/api/runs/${run.runId}/events`, run.agentToken ?? '')),
    );
    expect(streams.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    const exec = (token = '') =>
      porthole.call('POST', `/v1/sandbox/${runs[0]?.sandboxId}/exec`, { token, body: { argv: ['true'] } });
    const refused = await exec(runs[0]?.agentToken);
    expect(outcome(refused)).toEqual([429, 'too_many_requests']);
    expect(refused.json<{ error: string }>().error).toMatch(/^The agents of this owner have too many/);
    expect((await exec(ALICE)).status).toBe(200);
    for (const stream of streams) stream.destroy();
  });

  test('serve an owner while agents hold uploads open without sending them', async () => {
    const { sandboxId, agentToken } = await makeRun(porthole, ALICE);
    const stalled = Array.from({ length: 40 }, (_, at) => {
      const outgoing = request(`${porthole.host.url}/v1/sandbox/${sandboxId}/file/workspace/f${at}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${agentToken}`, 'content-length': 1_000_000 },
      });
      outgoing.on('error', () => undefined).write('...');
      return outgoing;
    });
    // Its turn comes behind the head of each.
    await porthole.call('GET', '/api/runs', { token: BOB });
    expect((await porthole.call('GET', '/api/runs', { token: ALICE })).status).toBe(200);
    for (const outgoing of stalled) outgoing.destroy();
  });

  test('refuse further guesses of an address that tried five wrong keys, but no valid key', async () => {
    const ask = (token: string) => porthole.call('GET', '/api/runs', { token });
    for (let guess = 0; guess < 4; guess += 1) expect((await ask(`wrong-${guess}`)).status).toBe(401);
    // Repeated: counts once.
    for (let again = 0; again < 4; again += 1) expect((await ask('wrong-0')).status).toBe(401);
    const signIn = (key: string) => porthole.call('POST', '/api/session', { body: { key } });
    expect(outcome(await signIn('wrong-4'))).toEqual([401, 'unauthorized']);
    const refused = await ask('wrong-5');
    expect(outcome(refused)).toEqual([429, 'too_many_requests']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(outcome(await signIn('wrong-6'))).toEqual([429, 'too_many_requests']);
    expect((await ask(ALICE)).status).toBe(200);
    expect((await signIn(ADA_ADMIN)).status).toBe(200);
  });

  test('refuse further preview hosts of an address that asked for five unknown ones, but no live one', async () => {
    const visit = (name: string) =>
      porthole.call('GET', '/', { host: `${name}-preview.localhost:${porthole.host.port}` });
    const unknown = (at: number) => visit(`calm-dune-${'a'.repeat(4)}-${String(at).padStart(26, 'a')}`);
    for (let at = 2; at < 7; at += 1) expect((await unknown(at)).status).toBe(404);
    const refused = await unknown(7);
    expect([refused.status, refused.headers['x-porthole-status']]).toEqual([429, 'too_many_requests']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    // Requested before: counts once.
    expect((await unknown(2)).status).toBe(404);
    const { preview_url: url } = await startPreview(porthole, runId, 3000, ALICE);
    const live = new URL(url ?? '').hostname.split('-preview.', 1)[0] ?? '';
    expect((await visit(live)).headers['x-porthole-status']).toBe('nothing_listens');
  });

  test('answer a large listing whole, made beside the event loop', async () => {
    const run = await makeRun(porthole, BOB);
    const many = 'mkdir many; cd many; for n in $(seq 12000); do : > "file number $n"; done';
    await execute(porthole, run.sandboxId, ['bash', '-c', many], { token: BOB });
    const answer = await porthole.call('GET', `/v1/sandbox/${run.sandboxId}/files?path=many`, { token: BOB });
    const { entries, truncated } = answer.json<{ entries: { name: string }[]; truncated: boolean }>();
    expect([answer.status, entries.length, truncated]).toEqual([200, 10_000, true]);
    expect(entries[0]).toMatchObject({ name: 'file number 1', type: 'file', size: 0 });
  });
});

describe('streams that are opened without pause', () => {
  const clock = pinnedClock();
  let porthole: TestHost;
  beforeAll(async () => {
    const limits = JSON.stringify({ stream: { per_owner: 3 }, streams_per_second: 1 });
    porthole = await startTestHost({ ...PEOPLE, PORTHOLE_REQUEST_LIMITS: limits }, { clock });
  });
  afterAll(() => porthole.end());

  const open = async (token: string, signal?: AbortSignal): Promise<number | undefined> => {
    const outgoing = get(`${porthole.host.url}/api/approvals/events`, {
      headers: { authorization: `Bearer ${token}` },
      ...(signal !== undefined && { signal }),
    });
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.on('error', () => undefined).destroy();
    return response.statusCode;
  };
  /** The first status that is not 429: the slot of a closed stream becomes free a moment later. */
  const retried = async (ask: () => Promise<number | undefined>): Promise<number | undefined> => {
    for (;;) {
      const status = await ask();
      if (status !== 429) return status;
    }
  };
  const openBurst = async (token: string) => {
    for (let count = 0; count < 3; count += 1) expect(await retried(() => open(token))).toBe(200);
  };

  test('wait for their turn, but not those of others and of the service, nor commands', async () => {
    const { sandboxId } = await makeRun(porthole, ALICE);
    await openBurst(ALICE);
    let isOpen = false;
    const next = retried(() => open(ALICE)).finally(() => (isOpen = true));
    await openBurst(SERVICE_KEY);
    await openBurst(SERVICE_KEY);
    await openBurst(BOB);
    const call = { token: ALICE, body: { argv: ['true'] } };
    const run = async () => (await porthole.call('POST', `/v1/sandbox/${sandboxId}/exec`, call)).status;
    expect(await retried(run)).toBe(200);
    expect(isOpen).toBe(false);
    clock.advance({ seconds: 1 });
    expect(await next).toBe(200);
  });

  test('free their slots when their clients leave before their turn', async () => {
    await openBurst(CAROL);
    const gone = new AbortController();
    const refused = await new Promise<number>((resolve) => {
      let count = 0;
      for (let at = 0; at < 8; at += 1) {
        open(CAROL, gone.signal).then(
          () => (count += 1) === 5 && resolve(count),
          () => undefined,
        );
      }
    });
    expect(refused).toBe(5);
    // The other three wait in all slots of their owner.
    gone.abort();
    const next = retried(() => open(CAROL));
    clock.advance({ seconds: 10 });
    expect(await next).toBe(200);
  });
});
