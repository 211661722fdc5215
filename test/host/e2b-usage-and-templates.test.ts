/** What E2B's clients ask about a sandbox, about templates, and about what is not there. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';

interface Sandbox {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
}

let porthole: TestHost;
let sandbox: Sandbox;
beforeAll(async () => {
  porthole = await startTestHost(PEOPLE);
  sandbox = await create();
}, 60_000);
afterAll(() => porthole?.end());

const control = (method: string, path: string, body?: unknown, key = ALICE) =>
  porthole.call(method, `/e2b${path}`, {
    headers: { 'x-api-key': key },
    ...(body !== undefined && { body }),
  });

async function create(): Promise<Sandbox> {
  const body = { templateID: 'base', envVars: { GREETING: 'hello' } };
  return (await control('POST', '/v2/sandboxes', body)).json();
}

const envd = (path: string) =>
  porthole.call('GET', `/e2b/envd${path}`, {
    headers: { 'e2b-sandbox-id': sandbox.sandboxID, 'x-access-token': sandbox.envdAccessToken },
  });

const run = (command: string) =>
  porthole.call('POST', `/v1/sandbox/${sandbox.sandboxID}/exec`, {
    token: ALICE,
    body: { argv: ['/bin/sh', '-c', command] },
  });

describe('metrics', () => {
  interface Metric {
    readonly cpuUsedPct: number;
    readonly cpuCount: number;
    readonly memUsed: number;
    readonly memTotal: number;
    readonly diskUsed: number;
    readonly diskTotal: number;
  }
  const metrics = async (query = '', key = ALICE) =>
    (await control('GET', `/sandboxes/${sandbox.sandboxID}/metrics${query}`, undefined, key)).json<
      Metric[]
    >();
  const seconds = (from: number) => Math.floor(Date.now() / 1_000) + from;

  test('are what the processes of the sandbox use', async () => {
    const [idle] = await metrics();
    const hog =
      'x=$(head -c 50000000 /dev/zero | tr "\\\\0" x); read line < /workspace/go; echo "$x" | wc -c';
    await run(`mkfifo /workspace/go; (${hog}) >/dev/null 2>&1 & (while [ -p /workspace/go ]; do :; done) &`);
    const busy = async () => {
      for (;;) {
        const [now] = await metrics();
        if (now !== undefined && now.cpuUsedPct > 5 && now.memUsed > (idle?.memUsed ?? 0) + 40_000_000)
          return now;
      }
    };
    const { cpuCount, memTotal, memUsed, diskTotal, diskUsed } = await busy();
    await run('echo > /workspace/go; rm /workspace/go');
    expect(cpuCount).toBeGreaterThanOrEqual(1);
    expect(memTotal).toBeGreaterThan(memUsed);
    expect(diskTotal).toBeGreaterThan(diskUsed);
  }, 60_000);

  test('of another time than now are none', async () => {
    expect(await metrics(`?start=${seconds(-60)}&end=${seconds(0)}`)).toHaveLength(1);
    expect(await metrics(`?start=${seconds(-7_200)}&end=${seconds(-3_600)}`)).toEqual([]);
    expect(await metrics(`?start=${seconds(60)}`)).toEqual([]);
    const odd = await control('GET', `/sandboxes/${sandbox.sandboxID}/metrics?start=yesterday`);
    expect([odd.status, odd.json()['message']]).toEqual([400, expect.stringContaining('start')]);
  });

  test('are for the owner, and not of a sandbox that is paused, which stays so', async () => {
    const path = `/sandboxes/${sandbox.sandboxID}`;
    expect((await control('GET', `${path}/metrics`, undefined, BOB)).status).toBe(404);
    await control('POST', `${path}/pause`, {});
    expect(await metrics()).toEqual([]);
    expect((await control('GET', path)).json()['state']).toBe('paused');
    await control('POST', `/v2${path}/connect`, {});
  }, 60_000);

  test('and the variables are read in the sandbox', async () => {
    expect((await envd('/metrics')).json()).toEqual({
      ts: expect.any(Number),
      cpu_count: expect.any(Number),
      cpu_used_pct: expect.any(Number),
      mem_total: expect.any(Number),
      mem_used: expect.any(Number),
      mem_cache: expect.any(Number),
      disk_total: expect.any(Number),
      disk_used: expect.any(Number),
    });
    expect((await envd('/envs')).json()).toEqual({ GREETING: 'hello' });
  });
});

describe('the log', () => {
  interface Entry {
    readonly timestamp: string;
    readonly message: string;
    readonly fields: Readonly<Record<string, string>>;
  }
  const logs = async (query = '') =>
    (await control('GET', `/v2/sandboxes/${sandbox.sandboxID}/logs${query}`)).json<{ logs: Entry[] }>().logs;

  test('has what happened, in either direction, and only what was asked for', async () => {
    for (const name of ['one', 'two']) await run(`echo ${name}`);
    await porthole.host.services.publisher.settled();
    const commands = async (query = '') =>
      (await logs(`?search=exec${query}`)).map(
        ({ fields }) => /echo (\w+)/.exec(fields['command'] ?? '')?.[1],
      );
    expect((await commands()).slice(-2)).toEqual(['one', 'two']);
    expect(await commands('&direction=backward&limit=1')).toEqual(['two']);
    expect(await commands('&level=warn')).toEqual([]);
    const last = (await logs()).at(-1);
    expect(await logs(`?cursor=${Date.parse(last?.timestamp ?? '') + 1}`)).toEqual([]);
    const old = await control('GET', `/sandboxes/${sandbox.sandboxID}/logs?limit=1`);
    expect(old.json()).toMatchObject({
      logs: [{ line: expect.any(String) }],
      logEntries: [{ level: 'info' }],
    });
    expect((await control('GET', `/v2/sandboxes/${sandbox.sandboxID}/logs`, undefined, BOB)).status).toBe(
      404,
    );
  });
});

describe('templates', () => {
  test('are listed in pages, and found by their names', async () => {
    const list = await control('GET', '/v2/templates');
    const names = list.json<{ templateID: string }[]>().map(({ templateID }) => templateID);
    expect(names[0]).toBe('base');
    expect((await control('GET', '/templates')).json()).toEqual(list.json());
    const first = await control('GET', '/v2/templates?limit=1');
    expect(first.json()).toHaveLength(1);
    const more = await control('GET', '/v2/templates?limit=100&nextToken=base');
    expect(more.json()).toHaveLength(names.length - 1);
    expect((await control('GET', '/templates/aliases/base')).json()).toEqual({
      templateID: 'base',
      public: true,
    });
    const missing = await control('GET', '/templates/aliases/nothing');
    expect(missing.json()).toMatchObject({ code: 404, error_code: 'image_not_found' });
  });

  test.each(['/v3/templates', '/v2/templates', '/templates'])('are not built: %s', async (path) => {
    const answer = await control('POST', path, { name: 'x' });
    expect([answer.status, answer.json()]).toEqual([
      501,
      { code: 501, message: expect.stringContaining('POST /api/images'), error_code: 'not_implemented' },
    ]);
  });
});

test.each([
  ['GET', '/e2b/nothing', 404, 'not_found'],
  ['POST', '/e2b/volumes', 404, 'not_found'],
  ['POST', '/e2b/envd/init', 404, 'not_found'],
  ['PATCH', '/e2b/v2/sandboxes', 405, 'method_not_allowed'],
])('says in the shape of E2B that there is no %s %s', async (method, path, status, code) => {
  const answer = await porthole.call(method, path, { headers: { 'x-api-key': ALICE } });
  expect([answer.status, answer.json()]).toEqual([
    status,
    { code: status, message: expect.stringContaining(path), error_code: code },
  ]);
});
