import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { placeSkills } from '#core/skills/place-skills.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { skillTar } from '#test/support/skill-tar.ts';
import type { HostileGuest, Reader } from './support/hostile-guest.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';
import { makeRun } from './support/runs.ts';

/** Of each kind, in milliseconds. */
const ROUND_MS = 1_000;
/** What another owner may wait, in milliseconds, beyond what the machine makes it wait. */
const MAX_WAIT_MS = 250;
/** Processor time of one pass of the event loop, in milliseconds. */
const MAX_BLOCK_MS = 150;

let porthole: TestHost;
let guest: Worker;
let kinds: string[];
let withSkill: SandboxRecord;
beforeAll(async () => {
  porthole = await startTestHost(PEOPLE);
  const sandboxId = await makeWithSkill();
  withSkill = (await porthole.host.services.records.sandboxes.get(sandboxId)) as SandboxRecord;
  const { runId, agentToken } = await makeRun(porthole, BOB, { sandbox_id: sandboxId });
  const sandbox = `/v1/sandbox/${sandboxId}`;
  const details = await detailsOf(runId, sandbox);
  expect(agentToken).not.toBe('');
  const tool = (name: string, more: object = {}): Reader => ({
    method: 'POST',
    path: '/mcp',
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { run_id: runId, ...more } },
    },
  });
  const readers: Reader[] = [
    { method: 'POST', path: `${sandbox}/exec`, body: { argv: ['a'] } },
    { method: 'GET', path: `${sandbox}/pty`, isSocket: true },
    { method: 'GET', path: `${sandbox}/processes` },
    { method: 'POST', path: `${sandbox}/processes`, body: { argv: ['a'] } },
    { method: 'GET', path: `${sandbox}/processes/x/output?follow=true` },
    { method: 'POST', path: `${sandbox}/processes/x/wait`, body: { timeout_ms: 1_000 } },
    { method: 'GET', path: `${sandbox}/servers` },
    { method: 'GET', path: `${sandbox}/ports` },
    { method: 'POST', path: `${sandbox}/ports/3000/wait`, body: { timeout_ms: 1_000 } },
    { method: 'GET', path: `${sandbox}/files?depth=3` },
    { method: 'GET', path: `${sandbox}/search?text=a` },
    { method: 'GET', path: `${sandbox}/watch` },
    { method: 'GET', path: `${sandbox}/file/workspace/a` },
    { method: 'POST', path: `${sandbox}/persist` },
    { method: 'POST', path: `${sandbox}/folder`, body: { path: 'a' } },
    ...details.map((path) => ({ method: 'GET', path })),
    tool('process_output', { process_id: 'x' }),
    tool('list_processes'),
    tool('list_files'),
    tool('search_files', { pattern: 'a' }),
  ];
  guest = new Worker(new URL('./support/hostile-guest.ts', import.meta.url), {
    workerData: {
      hostileGuest: {
        folder: await folderOf(sandboxId),
        port: porthole.host.port,
        token: BOB,
        readers,
      } satisfies HostileGuest,
    },
  });
  [kinds] = (await once(guest, 'message')) as [string[]];
}, 60_000);
afterAll(async () => {
  await guest.terminate();
  await porthole.end();
}, 60_000);

/** A sandbox without the latest version of its skill, so that it has to be placed. */
async function makeWithSkill(): Promise<string> {
  const put = (text: string) =>
    porthole.call('PUT', '/api/skills/notes', { token: BOB, body: skillTar('notes', { 'a.md': text }) });
  expect((await put('first')).status).toBe(201);
  const made = await porthole.call('POST', '/v1/sandbox', { token: BOB, body: { skills: ['notes'] } });
  expect((await put('second')).status).toBe(200);
  return made.json<{ id: string }>().id;
}

/** The paths of the details of a command and of a process. */
async function detailsOf(runId: string, sandbox: string): Promise<string[]> {
  const body = { argv: ['true'] };
  expect((await porthole.call('POST', `${sandbox}/exec`, { token: BOB, body })).status).toBe(200);
  expect((await porthole.call('POST', `${sandbox}/processes`, { token: BOB, body })).status).toBe(201);
  const path = `/api/runs/${runId}/activity`;
  for (;;) {
    const { events } = (await porthole.call('GET', path, { token: BOB })).json<Activity>();
    const found = ['command.exited', 'process.exited'].map((type) =>
      events.find((event) => event.type === type),
    );
    if (found.every((event) => event !== undefined)) return found.map(({ id }) => `${path}/${id}/details`);
    await after(50);
  }
}

/** The folder with the socket of the sandbox's guest. */
async function folderOf(sandboxId: string): Promise<string> {
  const { globSync } = await import('node:fs');
  const [socket] = globSync(join(porthole.dataDir, '**', sandboxId, 'guest.sock'));
  return join(socket ?? '', '..');
}

interface Activity {
  readonly events: readonly { readonly id: string; readonly type: string }[];
}

interface Seen {
  /** The longest request of another owner, in milliseconds. */
  readonly wait: number;
  /** The longest processor time without a pass of the event loop, in milliseconds. */
  readonly block: number;
}

async function watchHost(ms: number): Promise<Seen> {
  let block = 0;
  let last = process.threadCpuUsage();
  const ticks = setInterval(() => {
    const { user, system } = process.threadCpuUsage(last);
    block = Math.max(block, (user + system) / 1_000);
    last = process.threadCpuUsage();
  }, 2);
  let wait = 0;
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const begun = performance.now();
    const { status } = await porthole.call('GET', '/api/runs', { token: ALICE });
    expect(status).toBe(200);
    wait = Math.max(wait, performance.now() - begun);
    await after(10);
  }
  clearInterval(ticks);
  return { wait, block };
}

/** As a resume does. No route resumes a sandbox that runs. */
async function keepPlacingSkills(sandbox: SandboxRecord, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await placeSkills(porthole.host.services, sandbox, signal, { inUse: true }).catch(() => undefined);
    await after(50);
  }
}

async function round(kind: string): Promise<Seen> {
  const over = new AbortController();
  guest.postMessage(kind, []);
  const placing = keepPlacingSkills(withSkill, over.signal);
  const seen = await watchHost(ROUND_MS);
  over.abort();
  guest.postMessage('', []);
  await placing;
  return seen;
}

test('answers another owner while a guest sends hostile answers of each kind to each reader', async () => {
  // The first requests load the routes.
  guest.postMessage(kinds[0], []);
  await after(ROUND_MS);
  guest.postMessage('', []);
  const slow: string[] = [];
  let usual = await watchHost(ROUND_MS);
  const isSlow = ({ wait, block }: Seen) => wait > MAX_WAIT_MS + 3 * usual.wait || block > MAX_BLOCK_MS;
  for (const kind of kinds) {
    let seen = await round(kind);
    // Other processes may have taken the machine for a moment.
    for (let again = 0; again < 3 && isSlow(seen); again += 1) {
      usual = await watchHost(ROUND_MS);
      seen = await round(kind);
    }
    if (isSlow(seen)) slow.push(`${kind}: ${JSON.stringify({ seen, usual })}`);
  }
  expect(slow).toEqual([]);
}, 120_000);
