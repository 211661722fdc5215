import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import * as fc from 'fast-check';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { collection, HTTP_ROUTES, SERVICES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { isFullPass } from '#core/previews/preview-lifetime.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { repetitions, suite } from '#test/support/suite.ts';
import { cluster, missing } from '../fixture/cluster.ts';
import type { Death, Orders } from './killed-starts-process.ts';
import { openPlaneHarness, type PlaneHarness } from './plane-harness.ts';
import { routesWithoutService, type WatchLog, watchLog } from './watch-log.ts';

const SCRIPT = join(import.meta.dirname, 'killed-starts-process.ts');
/** For the CommonJS dependencies. */
const CREATE_REQUIRE =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
const LANES = 2;
/** Deaths of each kind, in each lane. */
const DEATHS = repetitions(50);
/** Deaths between a Service and its route, in each lane: a busy machine needs more tries. */
const PARTIALS = repetitions(20);
/** Consecutive functions of one run; each finds what the previous one has left. */
const IN_A_ROW = 10;
const MINUTE = 60_000;

const halfway: fc.Arbitrary<Death> = fc.record({
  service: fc.integer({ min: 1, max: 4 }),
  milliseconds: fc.constantFrom(0, 0, 1, 2, 3, 5),
});
const anywhere: fc.Arbitrary<Death> = fc.record({ step: fc.integer({ min: 1, max: 40 }) });

/** What the functions of one run have answered their clients, over all their lives. */
class Promises {
  readonly live = new Map<string, string>();
  /** Stopped, or perhaps stopped: the answer was cut off. */
  readonly stopping = new Set<string>();
  readonly stopped = new Set<string>();

  hear(line: string): void {
    const [word, first = '', second = ''] = line.split(' ');
    const before = this.live.get(first);
    if (word === 'stopping') this.stopping.add(first);
    else if (word === 'stopped') this.stopped.add(first);
    else if (word === 'rotating' && before !== undefined) this.stopping.add(before);
    else if (word === 'started') {
      if (before !== undefined && before !== second && !this.stopping.has(before))
        throw new Error('a URL has changed without a stop');
      this.live.set(first, second);
    }
  }

  /** Previews that must still exist. */
  get kept(): string[] {
    return [...this.live.values()].filter((token) => !this.stopping.has(token));
  }
}

suite('functions killed in the middle of starts, on a real API server', missing(), () => {
  let folder: string;
  let recordsFile: string;
  let script: string;
  let harness: PlaneHarness;
  let log: WatchLog | undefined;
  const children = new Set<ChildProcessWithoutNullStreams>();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-killed-'));
    recordsFile = join(folder, 'porthole.db');
    harness = await openPlaneHarness(await cluster(), {
      name: 'killed',
      recordsFile,
      previewSettings: { maxPerRun: 3 },
    });
    log = await watchLog(harness.access, harness.client, harness.namespace);
    // As a function is deployed, in one file: loading is most of its short life.
    script = join(folder, 'function.mjs');
    await build({
      entryPoints: [SCRIPT],
      outfile: script,
      bundle: true,
      platform: 'node',
      format: 'esm',
      banner: { js: CREATE_REQUIRE },
    });
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    log?.close();
    await harness.close();
    rmSync(folder, { recursive: true });
  });

  /** Runs a function until it is dead; returns whether it died between a Service and its route. */
  async function kill(run: RunRecord, death: Death, promises: Promises): Promise<boolean> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script]);
    children.add(child);
    const { access, previewSettings } = harness;
    const { token, ...rest } = access;
    const bearer = token && { token: await token(false) };
    const orders: Orders = { access: { ...rest, ...bearer }, previewSettings, recordsFile, run, death };
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
    child.stdin.end(JSON.stringify(orders));
    const services = new Set<string>();
    for await (const line of createInterface({ input: child.stdout })) {
      const [word, plural, name = ''] = line.split(' ');
      if (word !== 'made') promises.hear(line);
      else if (plural === 'services') services.add(name);
      else services.delete(name);
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    children.delete(child);
    if (child.signalCode !== 'SIGKILL') throw new Error(`it was not killed: ${complaint}`);
    for (const name of services) {
      const routes = collection(HTTP_ROUTES, harness.namespace);
      const route = await harness.client.get(routes, name).catch(() => undefined);
      if (route === undefined) return true;
    }
    return false;
  }

  it(
    `leave nothing after one pass of the reaper, break no promise, and never a route without its Service (${LANES * 2 * DEATHS} times or more)`,
    async () => {
      const runs = new Map<RunRecord, Promises>();
      /** Returns how many of these died between a Service and its route. */
      const killAll = async (deaths: readonly Death[]): Promise<number> => {
        let partials = 0;
        for (let at = 0; at < deaths.length; at += IN_A_ROW) {
          const run = harness.makeRun();
          const promises = new Promises();
          runs.set(run, promises);
          for (const death of deaths.slice(at, at + IN_A_ROW)) {
            if (await kill(run, death, promises)) partials += 1;
          }
        }
        return partials;
      };
      const lane = async () => {
        let partials = await killAll([fc.sample(halfway, DEATHS), fc.sample(anywhere, DEATHS)].flat());
        while (partials < PARTIALS) partials += await killAll(fc.sample(halfway, IN_A_ROW));
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      const [routes, services] = [await harness.names(HTTP_ROUTES), await harness.names(SERVICES)];
      expect(services.length).toBeGreaterThan(routes.length);
      expect(routes.filter((name) => !services.includes(name))).toEqual([]);

      // After the start timeout, and before any expiry: partial and stopped previews are collected.
      const passAt = (time: number) =>
        reapPreviews(harness.another({ clock: { now: () => new Date(time) } }));
      let grace = Date.now() + 3 * MINUTE;
      while (!isFullPass(new Date(grace))) grace += MINUTE;
      await passAt(grace);
      expect(await harness.names(SERVICES)).toEqual(await harness.names(HTTP_ROUTES));
      const { plane } = harness.another();
      for (const promises of runs.values()) {
        for (const token of promises.kept) expect((await plane.find(token))?.token).toBe(token);
        for (const token of promises.stopped) expect(await plane.find(token)).toBeUndefined();
        expect(promises.kept.length).toBeLessThanOrEqual(3);
      }

      await passAt(Date.now() + 31 * MINUTE);
      expect(await harness.names(HTTP_ROUTES)).toEqual([]);
      expect(await harness.names(SERVICES)).toEqual([]);
      const events = (await log?.upToNow()) ?? [];
      expect(events.length).toBeGreaterThan(LANES * DEATHS * 10);
      expect(routesWithoutService(events)).toEqual([]);
    },
    10 * MINUTE,
  );
});
