import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readCpuTime } from '#adapters/local/sandbox-cgroup.ts';
import { SandboxFolder } from '#adapters/local/sandbox-folder.ts';
import { usageReport, usageTotal } from '#protocol/guest/usage-protocol.ts';
import { readMemory } from '#test/support/cgroup-counters.ts';
import { collect } from '#test/support/collect.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { Porthole } from '../../client/node/index.ts';

const KEYS = {
  'key-of-the-admin-0123': { user: 'root', org: 'acme', admin: true },
  'key-of-alice-01234567': { user: 'alice', org: 'acme' },
  'key-of-bob-0123456789': { user: 'bob', org: 'acme' },
};
const [ADMIN, ALICE, BOB] = Object.keys(KEYS) as [string, string, string];

let host: TestHost;
beforeAll(async () => {
  host = await startTestHost({ PORTHOLE_API_KEYS: JSON.stringify(KEYS) });
});
afterAll(() => host.end());

const as = (apiKey: string) => new Porthole({ url: host.host.url, apiKey });
const usageOf = async (token: string, query: string) => host.call('GET', `/v1/usage?${query}`, { token });

/** Busy for some seconds: itself, in a child that it waits for, and in an orphan that ends. */
const BUSY = `busy() { i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; }
(busy); busy; ( (busy; touch ended) & )
while [ ! -e ended ]; do sleep 0.1; done`;

/** Two processes that share 100 MiB. */
const FORKED = `python3 -c '
import os, time
kept = bytearray(100 << 20)
os.fork()
open("forked", "w")
time.sleep(60)' </dev/null >/dev/null 2>&1 &
while [ ! -e forked ]; do sleep 0.1; done`;

describe('the usage of a sandbox', () => {
  test('is the CPU time of its cgroup, and stays after a stop', async () => {
    const alice = as(ALICE);
    const { sandbox } = await alice.run({ title: 'Busy' });
    const { id } = sandbox;
    const started = new SandboxFolder(join(host.dataDir, 'sandboxes'), id).started();
    const read = async () => ({
      inside: (await host.host.services.guests.of(id).call('GET', '/v1/usage/total', usageTotal)).value.cpu_s,
      cgroup: readCpuTime(started?.cgroup ?? [])?.seconds ?? NaN,
    });
    const before = await read();
    await sandbox.exec(BUSY).collect();
    const after = await read();
    await sandbox.stop();
    const [row] = await collect(alice.usage.list({ by: ['sandbox'], sandbox: id }));
    expect(after.cgroup - before.cgroup).toBeGreaterThan(0.9);
    expect(Math.abs((row?.vcpu_s ?? 0) / after.cgroup - 1)).toBeLessThan(0.02);
    // Where no cgroup is visible, the guest adds up its processes, with those that have ended. The
    // cgroup has what starts the sandbox, too.
    const counted = (after.inside - before.inside) / (after.cgroup - before.cgroup);
    expect(Math.abs(counted - 1)).toBeLessThan(0.02);
    expect(row?.memory_gib_s).toBeGreaterThan(0);
    expect(row?.estimated).toBe(false);
  });

  test('is the memory of its cgroup, with what processes share counted once', async () => {
    const { sandbox } = await as(ALICE).run({ title: 'Forked' });
    await sandbox.exec(FORKED).collect();
    const { cgroup = [] } = new SandboxFolder(join(host.dataDir, 'sandboxes'), sandbox.id).started() ?? {};
    const guest = host.host.services.guests.of(sandbox.id);
    const { memory_bytes: counted } = (await guest.call('GET', '/v1/usage', usageReport)).value;
    expect(counted).toBeGreaterThan(100 << 20);
    expect(Math.abs(counted / (readMemory(cgroup) ?? NaN) - 1)).toBeLessThan(0.02);
    await sandbox.delete();
  });

  test('has what visitors of its previews have transferred', async () => {
    const alice = as(ALICE);
    const run = await alice.run({ title: 'Site' });
    const server = await run.serve(
      `node -e "require('http').createServer((q, r) => r.end('x'.repeat(50000))).listen(3000)"`,
      {
        port: 3000,
      },
    );
    const { hostname } = new URL(await server.preview());
    expect((await host.call('GET', '/', { host: hostname })).text).toHaveLength(50_000);
    await host.host.lifecycle();
    const answer = await usageOf(ALICE, `by=run&run=${run.info.run_id}`);
    const [row] = answer.json<{ usage: { run: string; preview_bytes: number }[] }>().usage;
    expect(row).toMatchObject({ run: run.info.run_id, sandbox: null, preview_bytes: 50_000 });
  });

  test('is that of the person, and of everyone for an admin', async () => {
    const { sandbox } = await as(BOB).run({ title: "Bob's" });
    await host.host.lifecycle();
    const owners = async (token: string) =>
      (await usageOf(token, 'by=owner'))
        .json<{ usage: { owner: string }[] }>()
        .usage.map(({ owner }) => owner);
    expect(await owners(ALICE)).toEqual(['alice']);
    expect(await owners(BOB)).toEqual(['bob']);
    expect(await owners(ADMIN)).toEqual(['alice', 'bob']);
    expect((await usageOf(ALICE, `sandbox=${sandbox.id}`)).json()).toEqual({ usage: [], next: null });
    expect((await usageOf(ALICE, 'owner=bob')).json()).toEqual({ usage: [], next: null });
  });

  test('is that of the sandbox of its run for an agent', async () => {
    const made = await host.call('POST', '/api/runs', { token: ALICE, body: {} });
    const { agent_token: agent, sandbox_id: id } = made.json<{ agent_token: string; sandbox_id: string }>();
    await host.host.lifecycle();
    const answer = await usageOf(agent, 'by=sandbox');
    expect(answer.json<{ usage: { sandbox: string }[] }>().usage.map(({ sandbox }) => sandbox)).toEqual([id]);
    expect((await usageOf(agent, 'by=sandbox&sandbox=abc')).status).toBe(403);
  });

  test('has pages, and CSV', async () => {
    const first = (await usageOf(ADMIN, 'by=sandbox&limit=1')).json<{ usage: object[]; next: string }>();
    expect([first.usage.length, first.next]).toEqual([1, '1']);
    const all = await collect(as(ADMIN).usage.list({ by: ['sandbox', 'day'] }));
    const answer = await usageOf(ADMIN, 'by=sandbox,day&format=csv');
    const [head, ...rows] = answer.text.trimEnd().split('\r\n');
    expect(head).toBe(
      'sandbox,day,vcpu_s,memory_gib_s,disk_gib_s,egress_bytes,preview_bytes,look_s,estimated',
    );
    expect(rows).toHaveLength(all.length);
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
  });

  test.each([
    ['by=colour', /^by: /],
    ['by=day,', /^by: /],
    ['from=yesterday', /^from: /],
    ['from=2026-02-30', /^from: /],
    ['from=2026-03-02&to=2026-03-01', /^query: from 2026-03-02 is after to 2026-03-01/],
    ['from=2020-01-01&to=2026-03-01', /^query: .* are \d+ days. Ask for 400 at most/],
    ['sandbox=UPPER', /^sandbox: must be the id of a sandbox/],
    ['limit=0', /^limit: /],
    ['format=xml', /^format: /],
    ['colour=red', /^query: unknown parameter "colour"/],
  ])('refuses %s', async (query, message) => {
    const answer = await usageOf(ALICE, query);
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ code: 'invalid_request', error: expect.stringMatching(message) });
  });
});
