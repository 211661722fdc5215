/**
 * The host or a guest is killed at random moments of checkpoints, restores, forks, deletions and
 * the removal of what they leave.
 */
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execute } from '#test/host/support/commands.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { call, type Call } from '#test/support/in-process-host.ts';
import { repetitions } from '#test/support/suite.ts';

const KILLS = repetitions(1_000, 12, 80);
/** Longer than any of the operations, in ms. */
const LATEST = 250;

/** Writes the files of a state: some differ from state to state, some are the same in all. */
const WRITE = `
const fs = require('fs'), state = Number(process.argv[1]);
fs.rmSync('data', { recursive: true, force: true });
for (let n = 0; n < 60; n += 1) {
  const folder = 'data/' + (n % 7), own = n % 3 === 0 ? state : 0;
  fs.mkdirSync(folder, { recursive: true });
  if (n % 11 !== state % 11) fs.writeFileSync(folder + '/' + n, (own + ':' + n + ' ').repeat(500 * (n % 9)));
}`;
const DIGEST = `find data -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum`;

interface Listed {
  readonly id: string;
  readonly label: string | null;
}

let dataDir: string;
let host: HostProcess;
let id: string;
/** By the label of a checkpoint. */
const digests = new Map<string, string>();

const porthole = {
  call: (method: string, path: string, options?: Call) => call(host.port, method, path, options),
};
const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
  let answer = await porthole.call(method, path, { body });
  // A guest that was killed is missed a moment later.
  for (let left = 50; left > 0 && answer.text.includes('"retryable":true'); left -= 1) {
    await pause(100);
    answer = await porthole.call(method, path, { body });
  }
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.text === '' ? (undefined as T) : answer.json<T>();
};
const checkpoints = () => `/v1/sandbox/${id}/checkpoints`;
const list = async () => (await ask<{ checkpoints: Listed[] }>('GET', checkpoints())).checkpoints;
const shell = async (script: string, of = id) => {
  const { exitCode, stdout, stderr } = await execute(porthole, of, ['sh', '-c', script]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString();
};
const writeState = async (state: number) => {
  await execute(porthole, id, ['node', '-e', WRITE, String(state)]);
  digests.set(`state ${state}`, await shell(DIGEST));
};

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'porthole-killed-'));
  host = await startHostProcess({ dataDir });
  ({ id } = await ask<{ id: string }>('POST', '/v1/sandbox', {}));
}, 60_000);
afterAll(async () => {
  await host?.end();
  await rm(dataDir, { recursive: true, force: true });
}, 60_000);

/** Begins one of the operations. It may fail: the host or the guest is killed. */
function begin(listed: readonly Listed[], state: number): Promise<unknown> {
  const some = listed[randomInt(Math.max(1, listed.length))]?.id;
  const kind = some === undefined ? 0 : randomInt(5);
  const started =
    kind === 1
      ? porthole.call('POST', `${checkpoints()}/${some}/restore`, { body: {} })
      : kind === 2
        ? porthole.call('POST', `${checkpoints()}/${some}/fork`, { body: {} })
        : kind === 3
          ? porthole.call('DELETE', `${checkpoints()}/${some}`)
          : porthole.call('POST', checkpoints(), { body: { label: `state ${state}` } });
  return started.catch(() => undefined);
}

/** Guests of this host's sandboxes, on any number of which it may work. */
function guests(): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('porthole-guest')) return [];
      return readFileSync(`/proc/${pid}/mountinfo`, 'latin1').includes(basename(dataDir))
        ? [Number(pid)]
        : [];
    } catch {
      return [];
    }
  });
}

async function killHost(): Promise<void> {
  await host.end('SIGKILL');
  host = await startHostProcess({ dataDir });
}

const points = { host: 0, start: 0, guest: 0 };

/** Kills the host, the host that removes what is left at its start, or a guest. */
async function kill(): Promise<void> {
  const kind = randomInt(6);
  const all = guests();
  const guest = all[randomInt(Math.max(1, all.length))];
  if (kind < 3 && guest !== undefined) {
    points.guest += 1;
    process.kill(guest, 'SIGKILL');
  } else if (kind === 3) {
    points.start += 1;
    await killHost();
    await pause(randomInt(100));
    await killHost();
  } else {
    points.host += 1;
    await killHost();
  }
}

/** The checkpoint restores to the files that it was made of. */
async function expectWhole({ id: each, label }: Listed): Promise<void> {
  await ask('POST', `${checkpoints()}/${each}/restore`, {});
  expect([label, await shell(DIGEST)]).toEqual([label, digests.get(label ?? '')]);
}

async function removeForks(): Promise<void> {
  const { sandboxes } = await ask<{ sandboxes: { id: string }[] }>('GET', '/v1/sandbox?limit=200');
  for (const each of sandboxes) if (each.id !== id) await ask('DELETE', `/v1/sandbox/${each.id}`);
}

const labelled = async () => (await list()).filter(({ label }) => label !== null);

test(
  `restores every listed checkpoint as it was, after ${KILLS} kills`,
  async () => {
    for (let state = 1; state <= KILLS; state += 1) {
      await writeState(state);
      const listed = await list();
      const started = begin(listed, state);
      await pause(randomInt(LATEST));
      await kill();
      await started;
      await removeForks();
      const left = await labelled();
      const checked = left[randomInt(Math.max(1, left.length))];
      if (checked !== undefined) await expectWhole(checked);
    }
    for (const each of await labelled()) await expectWhole(each);
    for (const { id: each } of await list()) await ask('DELETE', `${checkpoints()}/${each}`);
    await host.end('SIGKILL');
    host = await startHostProcess({ dataDir });
    await removeForks();
    await ask('DELETE', `/v1/sandbox/${id}`);
    await host.end();
    // What a start removes is what a kill has left.
    host = await startHostProcess({ dataDir });
    for (let left = objects(); left.length > 0; left = objects()) await pause(50);
  },
  60_000 + KILLS * 30_000,
);

function objects(): string[] {
  return readdirSync(join(dataDir, 'checkpoints'), { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ name }) => name);
}
