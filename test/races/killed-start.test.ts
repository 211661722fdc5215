import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Preview } from '#core/previews/preview-plane.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { recoverSandboxes } from '#host/platforms/recover-sandboxes.ts';
import { collect } from '#test/support/collect.ts';
import { openHarness } from './data-folder-harness.ts';
import { repetitions } from '#test/support/suite.ts';

const SCRIPT = join(import.meta.dirname, 'killed-start-process.ts');
const KILLS = repetitions(200);
/** Consecutive kills on one folder: each process starts on what the previous one left. */
const IN_A_ROW = 10;

/**
 * Where a process dies: at a step between two calls of ports, or this many milliseconds after it
 * began.
 */
type Death = { readonly step: number } | { readonly milliseconds: number };
const death: fc.Arbitrary<Death> = fc.oneof(
  fc.record({ step: fc.integer({ min: 1, max: 160 }) }),
  fc.record({ milliseconds: fc.integer({ min: 0, max: 25 }) }),
);

/**
 * Compiled once for all of them: loading is most of their short lives, and a killed process writes
 * no cache.
 */
let compiled: string;
beforeAll(async () => {
  compiled = mkdtempSync(join(tmpdir(), 'porthole-compiled-'));
  await once(spawn(process.execPath, [SCRIPT], { env: environment() }), 'exit');
});
afterAll(() => rmSync(compiled, { recursive: true }));
const environment = () => ({ ...process.env, NODE_COMPILE_CACHE: compiled });

const children = new Set<ChildProcessWithoutNullStreams>();
const folders = new Set<string>();
afterEach(async () => {
  for (const child of children) await end(child);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
});

async function end(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  children.delete(child);
}

interface Victim {
  readonly child: ChildProcessWithoutNullStreams;
  readonly said: readonly string[];
  readonly ready: Promise<unknown>;
  readonly gone: Promise<unknown>;
  complaint(): string;
}

function load(dataDir: string, death: Death): Victim {
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      SCRIPT,
      dataDir,
      ...('step' in death ? [String(death.step)] : []),
    ],
    { env: environment() },
  );
  children.add(child);
  const said: string[] = [];
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    said.push(line);
    if (line === 'go' && 'milliseconds' in death)
      void delay(death.milliseconds).then(() => child.kill('SIGKILL'));
  });
  return { child, said, ready: once(lines, 'line'), gone: once(lines, 'close'), complaint: () => complaint };
}

/** Runs it until it dies, and returns the answers to its clients. */
async function die(victim: Victim): Promise<readonly string[]> {
  await victim.ready;
  victim.child.stdin.end();
  await victim.gone;
  await end(victim.child);
  if (victim.child.signalCode !== 'SIGKILL') throw new Error(`it was not killed: ${victim.complaint()}`);
  return victim.said;
}

/** The answers to clients, over all lives of the folder. */
class Promises {
  readonly sandboxes = new Set<string>();
  /** Token by run and port. */
  readonly live = new Map<string, string>();
  /** Stopped, or perhaps stopped: the answer was cut off. */
  readonly stopping = new Set<string>();
  readonly stopped = new Set<string>();

  hear(said: readonly string[]): void {
    for (const line of said) {
      const [word, ...rest] = line.split(' ');
      if (word === 'run') this.sandboxes.add(rest[1] ?? '');
      else if (word === 'started') {
        const [run, port, token] = rest as [string, string, string];
        const before = this.live.get(`${run} ${port}`);
        if (before !== undefined && before !== token) this.stopped.add(before);
        this.live.set(`${run} ${port}`, token);
      } else if (word === 'stopping') this.stopping.add(rest.join(' '));
      else if (word === 'stopped') this.stopped.add(rest[0] ?? '');
    }
  }
}

/** The next start, and one pass of the reaper after it. */
async function inspectAfter(dataDir: string, promises: Promises): Promise<void> {
  // Three minutes later: partial previews must be two minutes old, and nothing expires within
  // thirty.
  const clock = { now: () => new Date(Date.now() + 180_000) };
  const harness = await openHarness(dataDir, clock);
  try {
    const silent = () => undefined;
    const log = { debug: silent, info: silent, warn: silent, error: silent };
    await recoverSandboxes({ ...harness, log }, new AbortController().signal);
    await reapPreviews(harness);

    const previews = await collect(harness.plane.list());
    expect(readdirSync(join(dataDir, 'previews')).sort()).toEqual(
      previews.map(({ name }) => `${name}.json`).sort(),
    );
    for (const preview of previews) {
      expect(harness.plane.lookup(preview.token)?.uid).toBe(preview.uid);
      expect(promises.stopped.has(preview.token)).toBe(false);
      const run = await harness.records.runs.get(preview.runId);
      if (run === undefined) throw new Error('a preview of no run');
      const { preview: again } = await startPreview(harness, { run, targetPort: preview.targetPort });
      expect([again.token, again.uid]).toEqual([preview.token, preview.uid]);
    }
    expect(perRun(previews).filter((count) => count > 3)).toEqual([]);
    for (const [pair, token] of promises.live) {
      const perhapsStopped =
        promises.stopped.has(token) || promises.stopping.has(token) || promises.stopping.has(pair);
      if (!perhapsStopped) expect(harness.plane.lookup(token)?.token).toBe(token);
    }

    const folders = (await collect(harness.sandboxes.list())).sort();
    const { items } = await harness.records.sandboxes.live({ limit: 1_000 });
    expect(items.filter(({ desired, observed }) => desired !== 'running' || observed !== 'running')).toEqual(
      [],
    );
    expect(items.map(({ id }) => id).sort()).toEqual(folders);
    expect([...promises.sandboxes].filter((id) => !folders.includes(id))).toEqual([]);
    const running = await harness.records.runs.list(undefined, { limit: 1_000 }, { status: 'running' });
    expect(running.items.filter(({ sandboxId }) => !folders.includes(sandboxId))).toEqual([]);
  } finally {
    await harness.close();
  }
}

function perRun(previews: readonly Preview[]): number[] {
  const counts = new Map<string, number>();
  for (const { runId } of previews) counts.set(runId, (counts.get(runId) ?? 0) + 1);
  return [...counts.values()];
}

test(`leaves nothing half-made and breaks no promise when it is killed ${KILLS} times at any point of a start`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(death, { minLength: IN_A_ROW, maxLength: IN_A_ROW }), async (deaths) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'porthole-killed-'));
      folders.add(dataDir);
      const promises = new Promises();
      // The next one loads while this one dies and is inspected.
      let next: Victim | undefined;
      for (const [at, each] of deaths.entries()) {
        const victim = next ?? load(dataDir, each);
        const following = deaths[at + 1];
        next = following && load(dataDir, following);
        promises.hear(await die(victim));
        await inspectAfter(dataDir, promises);
      }
      rmSync(dataDir, { recursive: true });
    }),
    { numRuns: KILLS / IN_A_ROW, endOnFailure: true },
  );
}, 300_000);
