import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { POOL_OWNER } from '#core/sandboxes/sandbox-owner.ts';
import { eventually } from '#test/contracts/sandbox-provider.contract.ts';
import { settled } from '#test/support/warm-pools.ts';
import { collect } from '#test/support/collect.ts';
import { startHostProcess } from '#test/support/host-process.ts';
import { call, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { makeRun } from './support/runs.ts';

/** So long that only the test's own actions take effect. */
const NEVER = { WARM_POOL_REFRESH_INTERVAL: '86400000' };
const OFTEN = { WARM_POOL_REFRESH_INTERVAL: '100' };

const warmIds = async ({ host: { services } }: TestHost): Promise<string[]> =>
  (await services.records.capacity.wantedBy(POOL_OWNER, services.installationId)).map(({ id }) => id);

const sandboxes = ({ host: { services } }: TestHost): Promise<string[]> => collect(services.sandboxes.list());

const stats = async (porthole: TestHost): Promise<unknown> =>
  (await porthole.call('GET', '/v1/pool/stats', { token: ALICE })).json();

const create = async (porthole: TestHost, token = ALICE): Promise<string> =>
  (await porthole.call('POST', '/v1/sandbox', { token, body: {} })).json<{ id: string }>().id;

async function end(porthole: TestHost): Promise<void> {
  await porthole.host.services.pool.drain();
  await porthole.end();
}

describe('ten sandboxes that are kept ready', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({ ...PEOPLE, ...NEVER, WARM_POOL_TARGET: '10' });
    await settled(porthole.host.services.pool, 10);
  });
  afterAll(() => end(porthole));

  test('are reported with their configuration', async () => {
    expect(await stats(porthole)).toEqual({
      warm: 10,
      assigned: 0,
      total: 10,
      config: { warmTarget: 10, refreshInterval: 86_400_000, maxInstances: 0, scaleBatchSize: 5 },
      maxInstances: null,
    });
  });

  test('belong to no caller, not even an admin', async () => {
    const [id = ''] = await warmIds(porthole);
    for (const token of [ALICE, ADA_ADMIN, SERVICE_KEY]) {
      const answers = [
        await porthole.call('GET', `/v1/sandbox/${id}/running`, { token }),
        await porthole.call('PUT', `/v1/sandbox/${id}/file/workspace/a`, { token, body: 'a' }),
        await porthole.call('DELETE', `/v1/sandbox/${id}`, { token }),
        await porthole.call('POST', '/api/runs', { token, body: { sandbox_id: id } }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    }
    expect(await warmIds(porthole)).toContain(id);
  });

  test('serve thirty who create one at once: each gets a different one, and as many are created again', async () => {
    const ready = await warmIds(porthole);
    const ids = await Promise.all(
      Array.from({ length: 30 }, (_, at) => create(porthole, at % 2 ? ALICE : BOB)),
    );
    expect(new Set(ids).size).toBe(30);
    expect(ids).toEqual(expect.arrayContaining(ready));
    await settled(porthole.host.services.pool, 10);
    expect(await stats(porthole)).toMatchObject({ warm: 10, assigned: 30, total: 40 });
    const { records, sandboxes } = porthole.host.services;
    for (const [at, id] of ids.entries()) {
      const user = at % 2 ? 'alice' : 'bob';
      expect(await records.sandboxes.get(id)).toMatchObject({ owner: { user }, observed: 'running' });
      expect(await sandboxes.inspect(id)).toMatchObject({ state: 'running' });
    }
    for (const id of ids) await sandboxes.destroy(id);
  });

  test('serve runs as well, and their agents find the sandbox as if it were created for them', async () => {
    const ready = await warmIds(porthole);
    const { sandboxId, agentToken } = await makeRun(porthole, ALICE);
    expect(ready).toContain(sandboxId);
    const { stdout } = await execute(porthole, sandboxId, ['sh', '-c', 'echo "$SANDBOX_ID"'], {
      token: agentToken,
    });
    expect(stdout.toString()).toBe(`${sandboxId}\n`);
  });

  test('are passed by when they have died', async () => {
    await settled(porthole.host.services.pool, 10);
    const [dead = '', next = ''] = await warmIds(porthole);
    await porthole.host.services.sandboxes.stop(dead);
    expect(await create(porthole)).toBe(next);
    await settled(porthole.host.services.pool, 10);
    const { state } = await porthole.host.services.sandboxes.inspect(dead);
    expect([state, await warmIds(porthole)]).toEqual(['absent', expect.not.arrayContaining([dead])]);
  });

  test('are removed on command, and made again on command; those in use stay', async () => {
    const { id } = { id: await create(porthole) };
    const command = (name: string, token: string) => porthole.call('POST', `/v1/pool/${name}`, { token });
    expect((await command('shutdown-prewarmed', ALICE)).status).toBe(403);
    const answer = await command('shutdown-prewarmed', SERVICE_KEY);
    expect([answer.status, answer.json()]).toEqual([200, { ok: true }]);
    expect(await warmIds(porthole)).toEqual([]);
    expect(await porthole.host.services.sandboxes.inspect(id)).toMatchObject({ state: 'running' });
    await create(porthole);
    expect(await stats(porthole)).toMatchObject({ warm: 0 });

    const again = await command('prime', ADA_ADMIN);
    expect([again.status, again.json()]).toEqual([200, { ok: true }]);
    expect(await stats(porthole)).toMatchObject({ warm: 10 });
  });
});

test('replaces a sandbox that dies while it waits, by the clock', async () => {
  const porthole = await startTestHost({ ...PEOPLE, ...OFTEN, WARM_POOL_TARGET: '2' });
  await settled(porthole.host.services.pool, 2);
  const [dead = ''] = await warmIds(porthole);
  await porthole.host.services.sandboxes.stop(dead);
  expect(await eventually(async () => !(await warmIds(porthole)).includes(dead))).toBe(true);
  await settled(porthole.host.services.pool, 2);
  expect(await warmIds(porthole)).not.toContain(dead);
  await end(porthole);
});

describe('a host that starts again', () => {
  const again = (dataDir: string, target: number) =>
    startTestHost({ ...PEOPLE, ...NEVER, WARM_POOL_TARGET: String(target) }, { dataDir });

  test('keeps those that were ready, and no more than configured', async () => {
    const first = await startTestHost({ ...PEOPLE, ...NEVER, WARM_POOL_TARGET: '3' });
    await settled(first.host.services.pool, 3);
    const ready = await warmIds(first);
    await first.close();

    const second = await again(first.dataDir, 3);
    await second.host.recovered;
    await second.host.services.pool.prime();
    expect(await warmIds(second)).toEqual(ready);
    const { services } = second.host;
    for (const id of ready) expect(await services.sandboxes.inspect(id)).toMatchObject({ state: 'running' });
    await second.close();

    const third = await again(first.dataDir, 1);
    expect(await eventually(async () => (await sandboxes(third)).length === 1)).toBe(true);
    expect(await sandboxes(third)).toEqual(ready.slice(0, 1));
    await third.close();

    const off = await again(first.dataDir, 0);
    expect(await eventually(async () => (await sandboxes(off)).length === 0)).toBe(true);
    await end(off);
  });

  test('has nothing to remove after it was ended while it created them', async () => {
    const first = await startTestHost({ ...PEOPLE, ...OFTEN, WARM_POOL_TARGET: '1000' });
    const { pool } = first.host.services;
    expect(await eventually(async () => (await pool.stats()).warm >= 3)).toBe(true);
    await first.close();
    expect(first.logged.filter((line) => /"level":"(?:warn|error)"/.test(line))).toEqual([]);

    const next = await again(first.dataDir, 5);
    await next.host.recovered;
    await settled(next.host.services.pool, 5);
    expect(next.logged.filter((line) => line.includes('half-made'))).toEqual([]);
    await end(next);
  });

  test('leaves no unknown sandbox after it was killed while it created them', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'porthole-test-'));
    const killed = await startHostProcess({
      dataDir,
      environment: { WARM_POOL_TARGET: '30', WARM_POOL_SCALE_BATCH_SIZE: '4' },
    });
    for (let warm = 0; warm === 0; ) {
      ({ warm } = (await call(killed.port, 'GET', '/v1/pool/stats')).json<{ warm: number }>());
    }
    await killed.end('SIGKILL');

    const next = await again(dataDir, 5);
    await next.host.recovered;
    await settled(next.host.services.pool, 5);
    const { sandboxes, records, installationId } = next.host.services;
    const { items } = await records.sandboxes.live({ limit: 100 }, installationId);
    const running = items.filter(({ observed, desired }) => observed === 'running' && desired === 'running');
    expect([items.length, running.length]).toEqual([5, 5]);
    expect((await collect(sandboxes.list())).toSorted()).toEqual(items.map(({ id }) => id).toSorted());
    await end(next);
  });
});

test('refuses another one within a second at the limit, with the time to retry', async () => {
  const porthole = await startTestHost({
    ...PEOPLE,
    ...NEVER,
    WARM_POOL_TARGET: '1',
    WARM_POOL_MAX_INSTANCES: '2',
  });
  try {
    await settled(porthole.host.services.pool, 1);
    const ask = (body: object) => porthole.call('POST', '/v1/sandbox', { token: BOB, body });
    const [kept, other] = [
      await create(porthole),
      (await ask({ session_key: 'mine' })).json<{ id: string }>().id,
    ];
    const before = await sandboxes(porthole);
    const began = performance.now();
    const refused = await ask({});
    expect(performance.now() - began).toBeLessThan(1_000);
    expect([refused.status, refused.headers['retry-after'], refused.json()]).toEqual([
      503,
      '5',
      {
        request_id: expect.any(String),
        code: 'capacity_exceeded',
        retryable: true,
        error:
          '2 sandboxes are running, the maximum (WARM_POOL_MAX_INSTANCES): try again once one is stopped or deleted.',
      },
    ]);
    expect(await sandboxes(porthole)).toEqual(before);
    expect((await ask({ session_key: 'mine' })).json()).toEqual({ id: other });
    expect((await porthole.call('DELETE', `/v1/sandbox/${kept}`, { token: ALICE })).status).toBe(204);
    expect((await ask({})).status).toBe(200);
  } finally {
    await end(porthole);
  }
});
