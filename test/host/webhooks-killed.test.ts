/** The host is killed at random moments while it stores events and delivers them. */
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { call } from '#test/support/in-process-host.ts';
import { repetitions } from '#test/support/suite.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts';

const KILLS = repetitions(1_000, 8, 100);
/** In ms. */
const LATEST = 400;
const KEY = 'key-of-the-admin-0123';
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
});
afterAll(async () => {
  await host?.end();
  await receiver.close();
  await rm(dataDir, { recursive: true, force: true });
}, 60_000);

/** What the host said it did: a type and a subject each. */
const acknowledged = new Set<string>();
const named = (type: string, subject: string) => `${type} ${subject}`;

async function makeKeys(isOver: () => boolean, begun: () => void): Promise<void> {
  while (!isOver()) {
    const body = { name: 'CI', scope: 'read' };
    const answer = await call(host.port, 'POST', '/api/keys', { token: KEY, body }).catch(() => undefined);
    if (answer?.status !== 201) continue;
    const { key_id: id } = answer.json<{ key_id: string }>();
    acknowledged.add(named('key.created', `key/${id}`));
    begun();
    const end = await call(host.port, 'DELETE', `/api/keys/${id}`, { token: KEY }).catch(() => undefined);
    if (end?.status === 204) acknowledged.add(named('key.revoked', `key/${id}`));
  }
}

interface Delivery {
  readonly event_id: string;
  readonly state: string;
  readonly attempts: number;
}

async function readDeliveries(id: string): Promise<Delivery[]> {
  const all: Delivery[] = [];
  for (let after = ''; ; ) {
    const path = `/v1/webhooks/${id}/deliveries?limit=1000${after && `&after=${after}`}`;
    const page = await call(host.port, 'GET', path, { token: KEY });
    const { deliveries, next } = page.json<{ deliveries: Delivery[]; next: string | null }>();
    all.push(...deliveries);
    if (next === null) return all;
    after = next;
  }
}

test(`loses no event in ${KILLS} kills of the host, and sends none more often than it says`, async () => {
  host = await startHostProcess({ dataDir, environment });
  const body = { url: receiver.url, events: ['key.*'] };
  const made = await call(host.port, 'POST', '/v1/webhooks', { token: KEY, body });
  const { id } = made.json<{ id: string }>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    if (kill > 0) host = await startHostProcess({ dataDir, environment });
    let isKilled = false;
    const isOver = () => isKilled;
    const begun = Promise.withResolvers<void>();
    const work = [makeKeys(isOver, begun.resolve), makeKeys(isOver, begun.resolve)];
    await begun.promise;
    await pause(randomInt(LATEST));
    await host.end('SIGKILL');
    isKilled = true;
    await Promise.all(work);
  }
  host = await startHostProcess({ dataDir, environment });
  const isReceived = () => {
    const received = new Set(receiver.received.map(({ event }) => named(event.type, event.subject)));
    return [...acknowledged].every((each) => received.has(each));
  };
  const deliveries = async (): Promise<Delivery[]> => {
    for (;;) {
      const all = await readDeliveries(id);
      if (isReceived() && all.every(({ state }) => state === 'delivered')) return all;
      await pause(200);
    }
  };
  const attempts = new Map((await deliveries()).map((each) => [each.event_id, each.attempts]));
  const byId = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id'] ?? '');
  expect([...byId].filter(([event, { length }]) => length > (attempts.get(event) ?? 0))).toEqual([]);
  expect(byId.size).toBe(attempts.size);
  expect(acknowledged.size).toBeGreaterThan(0);
  for (const [subject, messages] of Map.groupBy(receiver.received, ({ event }) => event.subject)) {
    const types = messages.map(({ event }) => event.type).filter((type, n, all) => type !== all[n - 1]);
    expect([subject, ['key.created', 'key.created key.revoked'].includes(types.join(' '))]).toEqual([
      subject,
      true,
    ]);
  }
}, 3_600_000);
