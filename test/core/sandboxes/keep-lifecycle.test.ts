import { afterEach, beforeEach, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import { claimSandboxId, makeSandbox } from '#core/sandboxes/create-sandbox.ts';
import { endSandbox } from '#core/sandboxes/end-sandbox.ts';
import { keepLifecycle } from '#core/sandboxes/lifecycle-pass.ts';
import { stopSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { collectOrphans } from '#core/sandboxes/collect-orphans.ts';
import { readySandbox } from '#core/sandboxes/use-sandbox.ts';
import { ALICE, NOON } from '#test/contracts/records/samples.ts';
import { memoryPreviewPlane } from '#test/doubles/memory-preview-plane.ts';
import { memorySandboxes } from '#test/doubles/memory-sandboxes.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';

const LIMITS = { idle: 30 * 60_000, retention: 60 * 60_000 };
const MINUTE = 60_000;
const tokens = plainTokens();

let records: Records;
beforeEach(async () => {
  records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
});
afterEach(() => records.close());

/** An action that may run concurrently with others. */
const act = fc.record({
  what: fc.constantFrom(
    ...(['create', 'stop', 'resume', 'touch', 'heartbeat', 'destroy', 'pass', 'pass'] as const),
    // A sandbox without a record, and one that starts after its end.
    ...(['orphan', 'straggler'] as const),
  ),
  target: fc.nat(3),
  ttlSeconds: fc.option(fc.constantFrom(10, 600, 3_000), { nil: undefined }),
});
const moment = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 3 }),
  /** Number of calls to sandboxes after which the process is killed. */
  killedAfter: fc.option(fc.nat(4), { nil: undefined, freq: 2 }),
  /** Minutes until the next action. */
  minutes: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 45 })),
});

test('converges after any concurrent calls and crashes: no sandbox without a record, every record ends', async () => {
  const log = fc.array(moment, { maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(log, fc.scheduler(), async (moments, scheduler) => {
      const machine = memorySandboxes();
      const clock = pinnedClock(NOON);
      const { provider: sandboxes, states } = machine;
      const place = `here-${Math.random()}`;
      const made: string[] = [];
      const turn = () => scheduler.schedule(Promise.resolve());
      const deps = {
        records: { ...records, sandboxes: inTurns(records.sandboxes, () => machine.turn()) },
        sandboxes,
        clock,
        ids: numberedIds(),
        tokens,
        plane: memoryPreviewPlane({ clock }),
        installationId: place,
        quotas: NO_QUOTAS,
      };
      const pass = async () => {
        await keepLifecycle({ ...deps, limits: LIMITS, failed: () => {} });
        await collectOrphans({ ...deps, failed: () => {} });
      };
      const acts = {
        async create(_id: string | undefined, ttlSeconds: number | undefined) {
          const id = `${place}${made.length}`;
          made.push(id);
          const claimed = await claimSandboxId(deps, id, { owner: ALICE, ttlSeconds });
          if (claimed !== undefined) await makeSandbox(deps, claimed, () => Promise.resolve());
        },
        async stop(id: string | undefined) {
          const sandbox = await get(id);
          if (sandbox?.observed === 'running') await stopSandbox(deps, sandbox);
        },
        async resume(id: string | undefined) {
          const sandbox = await get(id);
          if (sandbox !== undefined && sandbox.desired !== 'destroyed') await readySandbox(deps, sandbox);
        },
        async touch(id: string | undefined) {
          const sandbox = await get(id);
          if (sandbox !== undefined) await deps.records.sandboxes.touch(sandbox, clock.now());
        },
        async heartbeat(id: string | undefined) {
          const sandbox = await get(id);
          if (sandbox !== undefined) await deps.records.sandboxes.heartbeat(sandbox, clock.now());
        },
        async destroy(id: string | undefined) {
          const sandbox = await get(id);
          if (sandbox !== undefined) await endSandbox(deps, sandbox);
        },
        pass,
        async orphan() {
          const id = `${place}${made.length}`;
          made.push(id);
          await sandboxes.create({ id });
        },
        async straggler(id: string | undefined) {
          if (id !== undefined) await sandboxes.create({ id });
        },
      };
      /** Sandboxes without concurrent actions, started only by Porthole. */
      const plain = new Set<string>();
      const get = async (id: string | undefined) =>
        id === undefined ? undefined : deps.records.sandboxes.get(id);

      for (const { acts: together, killedAfter, minutes } of moments) {
        machine.left = killedAfter ?? Infinity;
        machine.turn = turn;
        const doing = together.map(({ what, target, ttlSeconds }) =>
          acts[what](made[target % Math.max(made.length, 1)], ttlSeconds).catch(() => undefined),
        );
        await scheduler.waitFor(Promise.all(doing));
        machine.turn = () => Promise.resolve();
        if (together.length > 1) plain.clear();
        else if (together[0]?.what === 'create') plain.add(made.at(-1) ?? '');
        else if (together[0]?.what === 'straggler') plain.clear();
        // Invariant at every moment, after any kill: a destroyed sandbox has no volume, a running
        // one has its record.
        for (const id of plain) {
          const record = await records.sandboxes.get(id);
          if (record === undefined || record.observed === 'destroyed') expect(states.has(id)).toBe(false);
        }
        clock.advance(minutes * MINUTE);
      }

      machine.left = Infinity;
      await pass();
      const known = await Promise.all(made.map((id) => records.sandboxes.get(id)));
      const live = known.flatMap((sandbox) => (sandbox?.observed === 'destroyed' ? [] : [sandbox?.id]));
      // Nothing runs without a record, and a destroyed sandbox has no volume.
      expect([...states.keys()].filter((id) => !live.includes(id))).toEqual([]);

      // Long enough for idleness, retention and interrupted creations, with regular passes.
      for (let at = 0; at < 8; at += 1) {
        clock.advance(31 * MINUTE);
        await pass();
      }
      expect([...states]).toEqual([]);
      const ends = await Promise.all(made.map((id) => records.sandboxes.get(id)));
      expect(ends.filter((end) => end !== undefined && !isOver(end))).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
}, 240_000);

function isOver({ desired, observed }: { readonly desired: string; readonly observed: string }): boolean {
  return desired === 'destroyed' && observed === 'destroyed';
}

/** The same records, with other processes' actions before and after each call. */
function inTurns<P extends object>(port: P, turn: () => Promise<void>): P {
  return new Proxy(port, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]): Promise<unknown> => {
        await turn();
        const result: unknown = await Reflect.apply(method, target, args);
        await turn();
        return result;
      };
    },
  });
}

test('keeps a sandbox running that is used again before it is stopped', async () => {
  const machine = memorySandboxes();
  const clock = pinnedClock(NOON);
  const deps = {
    records,
    sandboxes: machine.provider,
    clock,
    ids: numberedIds(),
    tokens,
    plane: memoryPreviewPlane({ clock }),
    installationId: 'here',
  };
  const claimed = await claimSandboxId(deps, 'abc', { owner: ALICE });
  if (claimed === undefined) throw new Error('taken');
  await makeSandbox(deps, claimed, () => Promise.resolve());
  clock.advance(31 * MINUTE);
  const { sandboxes } = records;
  // Between the check and the action (TOCTOU).
  const late: Records = {
    ...records,
    sandboxes: {
      ...sandboxes,
      moveDesired: async (...args) => {
        await sandboxes.touch(claimed, clock.now());
        return sandboxes.moveDesired(...args);
      },
    },
  };
  const done = await keepLifecycle({ ...deps, records: late, limits: LIMITS, failed: () => {} });
  expect(done).toMatchObject({ stop: 0 });
  expect(machine.states.get('abc')).toBe('running');
});
