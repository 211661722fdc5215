/**
 * Starts, stops, rotations, keepalives and reapers in orders that fast-check chooses, step by step:
 * between a call and its effect, and between the effect and its answer, any other actor may
 * continue. A failure prints the seed and the order.
 */
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import * as fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { openLocalPlane } from '#adapters/previews/local-plane.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import { memoryPreviewPlane } from '#test/doubles/memory-preview-plane.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { previewOptions } from '#test/support/preview-options.ts';
import { type Action, type Pair, PreviewWorld } from './preview-world.ts';
import { repetitions } from '#test/support/suite.ts';
import { aRun, aSandbox } from '#test/contracts/records/samples.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');
const OWNER = { user: 'alice', org: 'acme' };
const { idleTimeoutMinutes, maxLifetimeHours } = previewOptions();
const IDLE = idleTimeoutMinutes * 60_000;
const MAX = maxLifetimeHours * 3_600_000;

const pair = fc.nat(5);
const wait = fc.record({
  do: fc.constant('wait' as const),
  milliseconds: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(0, 1, IDLE / 2, IDLE - 1, IDLE, IDLE + 1) },
    { weight: 1, arbitrary: fc.constantFrom(MAX - IDLE, MAX - 1, MAX) },
  ),
});
const about = (doing: 'start' | 'rotate' | 'stop' | 'keep' | 'keep-old' | 'destroy') =>
  fc.record({ do: fc.constant(doing), pair });
const reap = fc.constant<Action>({ do: 'reap' });

const anything: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: about('start') },
  { weight: 5, arbitrary: about('keep') },
  { weight: 4, arbitrary: reap },
  { weight: 3, arbitrary: about('stop') },
  { weight: 3, arbitrary: wait },
  { weight: 1, arbitrary: about('keep-old') },
  { weight: 1, arbitrary: about('rotate') },
);
const rarelyTheEnd: fc.Arbitrary<Action> = fc.oneof(
  { weight: 30, arbitrary: anything },
  { weight: 1, arbitrary: about('destroy') },
);

describe('in any order of their steps', () => {
  const ids = numberedIds();
  let folder: string;
  let records: Records;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-scheduled-'));
    records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
  });
  afterAll(async () => {
    await records.close();
    rmSync(folder, { recursive: true });
  });

  /** Separate runs, so that one database serves all orders. */
  async function makePairs(runs: number, ports: number): Promise<Pair[]> {
    const pairs: Pair[] = [];
    for (let each = 0; each < runs; each += 1) {
      const sandboxId = ids.sandbox();
      await records.sandboxes.create(aSandbox(sandboxId, { owner: OWNER, observed: 'running' }));
      const run = aRun(ids.run(), { owner: OWNER, sandboxId });
      await records.runs.create(run);
      for (let port = 0; port < ports; port += 1) pairs.push({ run, port: 3000 + port });
    }
    return pairs;
  }

  async function play(
    scheduler: fc.Scheduler,
    clients: readonly (readonly Action[])[],
    { runs, ports, maxPerRun }: { runs: number; ports: number; maxPerRun: number },
    kind: 'local' | 'memory' = 'local',
  ): Promise<void> {
    const clock = pinnedClock(NOON);
    const pairs = await makePairs(runs, ports);
    const previews = join(folder, pairs[0]?.run.id ?? '');
    const local =
      kind === 'memory'
        ? undefined
        : await openLocalPlane({
            folder: previews,
            zone: 'localhost',
            maxTotal: 100,
            clock,
            sandboxes: { dial: async () => new PassThrough() },
            address: () => ({ scheme: 'http', port: 8787 }),
          });
    const memory = memoryPreviewPlane({ clock });
    const world = new PreviewWorld({
      plane: local ?? memory,
      reaches: (token) => (local === undefined ? memory.reaches(token) : local.lookup(token) !== undefined),
      strict: local !== undefined,
      records,
      clock,
      pairs,
      options: previewOptions({ maxPerRun }),
    });
    const turn = (label: string) => scheduler.schedule(Promise.resolve(), label).then(() => undefined);
    // Most orders are about existing previews.
    await world.client(
      pairs.slice(0, maxPerRun).map((_, at) => ({ do: 'start', pair: at })),
      async () => undefined,
    );
    await scheduler.waitFor(Promise.all(clients.map((actions) => world.client(actions, turn))));
    await world.settle();
    rmSync(previews, { recursive: true, force: true });
  }

  test('keepalives and two reapers lose nothing that was kept alive in time, and bring nothing back', async () => {
    const supervisor = fc.array(fc.oneof(about('keep'), wait), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), supervisor, supervisor, wait, (scheduler, one, other, first) =>
        play(scheduler, [[first, { do: 'reap' }], [{ do: 'reap' }, { do: 'reap' }], one, other], {
          runs: 1,
          ports: 1,
          maxPerRun: 3,
        }),
      ),
      { numRuns: repetitions(1_000) },
    );
  });

  test('leaves what it should, and nothing else, after everything on one port', async () => {
    const client = fc.array(anything, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(client, { minLength: 2, maxLength: 5 }),
        (scheduler, clients) => play(scheduler, clients, { runs: 1, ports: 1, maxPerRun: 3 }),
      ),
      { numRuns: repetitions(1_000) },
    );
  });

  test.each([
    'local',
    // Here an opened preview serves at once, as across a network.
    'memory',
  ] as const)(
    'leaves what it should, within the cap, and nothing else, after everything on several ports of two runs: %s plane',
    async (kind) => {
      const client = fc.array(rarelyTheEnd, { minLength: 1, maxLength: 4 });
      await fc.assert(
        fc.asyncProperty(
          fc.scheduler(),
          fc.array(client, { minLength: 2, maxLength: 5 }),
          (scheduler, clients) => play(scheduler, clients, { runs: 2, ports: 3, maxPerRun: 2 }, kind),
        ),
        { numRuns: repetitions(1_000) },
      );
    },
  );

  test('leaves exactly the cap after simultaneous starts of six ports', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const starts: Action[][] = [0, 1, 2, 3, 4, 5].map((at) => [{ do: 'start', pair: at }]);
        await play(scheduler, starts, { runs: 1, ports: 6, maxPerRun: 2 });
      }),
      { numRuns: repetitions(1_000) },
    );
  });
});
