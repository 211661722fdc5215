/**
 * The host is killed at random moments while keys, sandboxes, runs and previews begin and end: what
 * its audit, a webhook and the usage have in the end.
 */
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SandboxFolder } from '#adapters/local/sandbox-folder.ts';
import { CgroupCounters } from '#test/support/cgroup-counters.ts';
import { collect } from '#test/support/collect.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { type Answer, type Call, call } from '#test/support/in-process-host.ts';
import { repetitions } from '#test/support/suite.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts';
import { Porthole } from '../../client/node/index.ts';
import { verifyAudit } from '../../client/node/verify-audit.ts';
import { serve } from './support/commands.ts';
import { makeRun, type StartedPreview } from './support/runs.ts';

const KILLS = repetitions(1_000, 10, 100);
/** Milliseconds from the first change to the kill, at most. */
const LATEST = 800;
/** One of so many deliveries fails. */
const FAILING = 100;
const PORT = 3_000;
const KEY = 'key-of-the-admin-0123';
const BUSY = 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done';
const environment = {
  PORTHOLE_API_KEYS: JSON.stringify({ [KEY]: { user: 'root', org: 'acme', admin: true } }),
  PORTHOLE_WEBHOOK_ALLOW: '127.0.0.1/32',
};

let dataDir: string;
let host: HostProcess;
let receiver: WebhookReceiver;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'porthole-killed-'));
  receiver = await startWebhookReceiver();
  receiver.answer((response) => {
    if (randomInt(FAILING) > 0) response.writeHead(204).end();
    else if (randomInt(2) > 0) response.writeHead(500).end();
    else response.destroy();
  });
});
afterAll(async () => {
  await host?.end();
  await receiver.close();
  await rm(dataDir, { recursive: true, force: true });
}, 60_000);

/** The present host. */
const porthole = {
  call: (method: string, path: string, options: Call = {}) =>
    call(host.port, method, path, { token: KEY, ...options }),
};
const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
  const answer = await porthole.call(method, path, { body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json<T>();
};
/** The answer; undefined if the kill has cut it off, or it is a refusal. */
const attempt = async (method: string, path: string, body?: unknown): Promise<Answer | undefined> => {
  const answer = await porthole.call(method, path, { body }).catch(() => undefined);
  return answer !== undefined && answer.status < 300 ? answer : undefined;
};

/** A sandbox with a known CPU time. */
let busy: string;
let counters: CgroupCounters;
/** A sandbox with a server, and the run that keeps it alive. */
let served: string;
let keeping: string;

/** Each happens to a subject at most once. */
const TYPES: readonly string[] = [
  'key.created',
  'key.revoked',
  'sandbox.created',
  'sandbox.destroyed',
  'run.created',
  'run.completed',
  'preview.opened',
  'preview.stopped',
];

/** What the host said it did: a type and a subject, no two the same. */
const acknowledged = new Set<string>();
const named = ({ type, subject }: { readonly type: string; readonly subject: string }) =>
  `${type} ${subject}`;

async function makeKey(): Promise<void> {
  const made = await attempt('POST', '/api/keys', { name: 'CI', scope: 'read' });
  if (made === undefined) return;
  const { key_id: id } = made.json<{ key_id: string }>();
  acknowledged.add(`key.created key/${id}`);
  if (await attempt('DELETE', `/api/keys/${id}`)) acknowledged.add(`key.revoked key/${id}`);
}

async function makeSandbox(): Promise<void> {
  const made = await attempt('POST', '/v1/sandbox', {});
  if (made === undefined) return;
  const { id } = made.json<{ id: string }>();
  acknowledged.add(`sandbox.created sandbox/${id}`);
  await endSandbox(id);
}

async function endSandbox(id: string): Promise<void> {
  if (await attempt('DELETE', `/v1/sandbox/${id}`)) acknowledged.add(`sandbox.destroyed sandbox/${id}`);
}

async function openPreview(): Promise<void> {
  const made = await attempt('POST', '/api/runs', { sandbox_id: served });
  if (made === undefined) return;
  const { run_id: run } = made.json<{ run_id: string }>();
  acknowledged.add(`run.created run/${run}`);
  const path = `/api/runs/${run}/sandbox/port-forward`;
  const opened = (await attempt('POST', path, { target_port: PORT }))?.json<StartedPreview>();
  const subject = `run/${run}/port/${PORT}`;
  if (opened?.ready) acknowledged.add(`preview.opened ${subject}`);
  if (opened !== undefined && (await attempt('DELETE', `${path}/${opened.session_id}`)))
    acknowledged.add(`preview.stopped ${subject}`);
  await completeRun(run);
}

async function completeRun(id: string): Promise<void> {
  if (await attempt('POST', `/api/runs/${id}/complete`)) acknowledged.add(`run.completed run/${id}`);
}

/** A stop counts what was used. */
async function spend(): Promise<void> {
  counters.read();
  await attempt('POST', `/v1/sandbox/${busy}/resume`);
  await attempt('POST', `/v1/sandbox/${busy}/exec`, { argv: ['sh', '-c', BUSY] });
  counters.read();
  await attempt('POST', `/v1/sandbox/${busy}/stop`);
}

/** Ends what kills have left. */
async function endLeftovers(): Promise<void> {
  const { sandboxes = [] } = (await attempt('GET', '/v1/sandbox?limit=200'))?.json<Listed>() ?? {};
  const { runs = [] } = (await attempt('GET', '/api/runs?status=running&limit=200'))?.json<Listed>() ?? {};
  const left = sandboxes.filter(({ id }) => id !== busy && id !== served);
  await Promise.all(left.map(({ id }) => endSandbox(id)));
  for (const { run_id: id } of runs) if (id !== keeping) await completeRun(id);
}

interface Listed {
  readonly sandboxes?: readonly { readonly id: string }[];
  readonly runs?: readonly { readonly run_id: string }[];
}

interface Delivery {
  readonly event_id: string;
  readonly state: string;
  readonly attempts: number;
}

async function readDeliveries(hook: string): Promise<Delivery[]> {
  const all: Delivery[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const path: string = `/v1/webhooks/${hook}/deliveries?limit=1000${after && `&after=${after}`}`;
    const page = await ask<{ deliveries: Delivery[]; next: string | null }>('GET', path);
    all.push(...page.deliveries);
    after = page.next;
  }
  return all;
}

const MAKING = [makeKey, makeSandbox, openPreview];
const STEPS = [...MAKING, spend];

async function killUnderLoad(): Promise<void> {
  let isKilled = false;
  const repeat = async (step: () => Promise<unknown>) => {
    while (!isKilled) await step();
  };
  const work = [...STEPS, () => attempt('GET', '/v1/audit?limit=1')].map(repeat);
  work.push(endLeftovers());
  // On a slow machine, the load takes a while to begin.
  await MAKING[randomInt(MAKING.length)]?.();
  await pause(randomInt(LATEST));
  await host.end('SIGKILL');
  isKilled = true;
  await Promise.all(work);
  host = await startHostProcess({ dataDir, environment });
}

test(
  `loses and doubles nothing in ${KILLS} kills of the host`,
  async () => {
    host = await startHostProcess({ dataDir, environment });
    const wanted = { url: receiver.url, events: ['*'], scope: 'installation' };
    const { id: hook } = await ask<{ id: string }>('POST', '/v1/webhooks', wanted);
    ({ id: busy } = await ask<{ id: string }>('POST', '/v1/sandbox', {}));
    counters = new CgroupCounters(
      () => new SandboxFolder(join(dataDir, 'sandboxes'), busy).started()?.cgroup ?? [],
    );
    ({ runId: keeping, sandboxId: served } = await makeRun(porthole));
    await serve(porthole, served, PORT, 'served');

    for (let kill = 0; kill < KILLS; kill += 1) await killUnderLoad();
    for (const step of STEPS) await step();
    await endLeftovers();

    const { audit, usage } = new Porthole({ url: `http://127.0.0.1:${host.port}`, apiKey: KEY });
    const events = await collect(audit.events());
    expect(await verifyAudit(events, await audit.heads())).toMatchObject({ first: 1, last: events.length });
    const names = events.map(named).filter((name) => TYPES.includes(name.split(' ')[0] ?? ''));
    const happened = new Set(names);
    expect(names).toHaveLength(happened.size);
    expect([...acknowledged].filter((each) => !happened.has(each))).toEqual([]);
    expect(TYPES.filter((type) => ![...acknowledged].some((each) => each.startsWith(`${type} `)))).toEqual(
      [],
    );
    const { keys } = await ask<{ keys: { key_id: string }[] }>('GET', '/api/keys');
    const { sandboxes } = await ask<{ sandboxes: { id: string }[] }>('GET', '/v1/sandbox?limit=200');
    const left = (begin: string, end: string) => {
      const begun = names.filter((name) => name.startsWith(`${begin} `)).map((name) => name.split(' ')[1]);
      return new Set(begun.filter((subject) => !happened.has(`${end} ${subject}`)));
    };
    expect(left('key.created', 'key.revoked')).toEqual(new Set(keys.map(({ key_id: id }) => `key/${id}`)));
    expect(left('sandbox.created', 'sandbox.destroyed')).toEqual(
      new Set(sandboxes.map(({ id }) => `sandbox/${id}`)),
    );

    const [row] = await collect(usage.list({ by: ['sandbox'], sandbox: busy }));
    expect(Math.abs((row?.vcpu_s ?? 0) / counters.counted.vcpu_s - 1)).toBeLessThan(0.02);
    expect(row?.estimated).toBe(false);

    const sent = events.slice(events.findIndex(({ type }) => type === 'webhook.created'));
    const unsent = new Set(sent.map(({ id }) => id));
    while (unsent.size > 0) {
      for (const { event } of receiver.received) unsent.delete(event.id);
      await pause(500);
    }
    let deliveries = await readDeliveries(hook);
    while (deliveries.some(({ state }) => state !== 'delivered')) {
      await pause(500);
      deliveries = await readDeliveries(hook);
    }
    const attempts = new Map(deliveries.map((each) => [each.event_id, each.attempts]));
    expect(attempts.size).toBe(deliveries.length);
    const received = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id'] ?? '');
    expect([...received].filter(([id, { length }]) => length > (attempts.get(id) ?? 0))).toEqual([]);
    const bySubject = (list: readonly { readonly id: string; readonly subject: string }[]) =>
      Object.fromEntries(
        [...Map.groupBy(list, ({ subject }) => subject)].map(([subject, all]) => [
          subject,
          [...new Set(all.map(({ id }) => id))],
        ]),
      );
    expect(bySubject(receiver.received.map(({ event }) => event))).toEqual(bySubject(sent));
  },
  3 * 3_600_000,
);
