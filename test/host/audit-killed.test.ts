/** The host is killed at random moments of changes, and while it puts them into the chain. */
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { collect } from '#test/support/collect.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { call } from '#test/support/in-process-host.ts';
import { repetitions } from '#test/support/suite.ts';
import { Porthole } from '../../client/node/index.ts';
import { verifyAudit } from '../../client/node/verify-audit.ts';

const KILLS = repetitions(1_000, 10, 60);
/** In ms. */
const LATEST = 300;
const KEY = 'key-of-the-admin-0123';
const PORTHOLE_API_KEYS = JSON.stringify({ [KEY]: { user: 'root', org: 'acme', admin: true } });

let dataDir: string;
let host: HostProcess;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'porthole-killed-'));
});
afterAll(async () => {
  await host?.end();
  await rm(dataDir, { recursive: true, force: true });
}, 60_000);

/** The ids of the keys that the host said it made, and revoked. */
const made = new Set<string>();
const revoked = new Set<string>();

async function makeKeys(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const body = { name: 'CI', scope: 'read' };
    const answer = await call(host.port, 'POST', '/api/keys', { token: KEY, body }).catch(() => undefined);
    if (answer?.status !== 201) continue;
    const { key_id: id } = answer.json<{ key_id: string }>();
    made.add(id);
    const end = await call(host.port, 'DELETE', `/api/keys/${id}`, { token: KEY }).catch(() => undefined);
    if (end?.status === 204) revoked.add(id);
  }
}

async function readAudit(isOver: () => boolean): Promise<void> {
  while (!isOver()) await call(host.port, 'GET', '/v1/audit?limit=1', { token: KEY }).catch(() => undefined);
}

test(`loses no event in ${KILLS} kills of the host, has none twice, and verifies`, async () => {
  for (let kill = 0; kill < KILLS; kill += 1) {
    host = await startHostProcess({ dataDir, environment: { PORTHOLE_API_KEYS } });
    let isKilled = false;
    const isOver = () => isKilled;
    const work = [makeKeys(isOver), makeKeys(isOver), readAudit(isOver)];
    await pause(randomInt(LATEST));
    await host.end('SIGKILL');
    isKilled = true;
    await Promise.all(work);
  }
  host = await startHostProcess({ dataDir, environment: { PORTHOLE_API_KEYS } });
  const { audit } = new Porthole({ url: `http://127.0.0.1:${host.port}`, apiKey: KEY });
  const events = await collect(audit.events());
  const of = (type: string) =>
    events.filter((event) => event.type === type).map(({ subject }) => subject.replace('key/', ''));
  const [created, ended] = [of('key.created'), of('key.revoked')];
  expect([...made].filter((id) => !created.includes(id))).toEqual([]);
  expect([...revoked].filter((id) => !ended.includes(id))).toEqual([]);
  expect([new Set(created).size, new Set(ended).size]).toEqual([created.length, ended.length]);
  const kept = await call(host.port, 'GET', '/api/keys', { token: KEY });
  const keys = kept.json<{ keys: { key_id: string }[] }>().keys.map(({ key_id }) => key_id);
  expect(keys.toSorted()).toEqual(created.filter((id) => !ended.includes(id)).toSorted());
  expect(created.length).toBeGreaterThan(0);
  expect(await verifyAudit(events, await audit.heads())).toMatchObject({ first: 1, last: events.length });
}, 3_600_000);
