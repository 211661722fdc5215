import { afterEach, beforeEach, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/ports/records.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';
import { NO_QUOTAS } from '#core/rules/quotas.ts';
import { claimSandboxId, makeSandbox } from '#core/use-cases/create-sandbox.ts';
import { destroySandbox } from '#core/use-cases/destroy-sandbox.ts';
import { keepLifecycle } from '#core/use-cases/keep-lifecycle.ts';
import { resumeSandbox, stopSandbox } from '#core/use-cases/resume-sandbox.ts';
import { ALICE, NOON } from '#test/contracts/records/samples.ts';
import { memoryPreviewPlane } from '#test/doubles/memory-preview-plane.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';

const LIMITS = { idle: 30 * 60_000, retention: 60 * 60_000 };
const MINUTE = 60_000;
const tokens = plainTokens();

/** Sandboxes that are nothing but a state and a volume, whose every call may be the last of a process. */
class Machine {
  readonly states = new Map<string, 'running' | 'stopped'>();
  /** How many calls a process still makes before it is killed. */
  left = Infinity;

  #step(): void {
    if (this.left <= 0) throw new Error('killed');
    this.left -= 1;
  }

  get provider(): SandboxProvider {
    const move = (state: 'running' | 'stopped') => async (id: string) => {
      this.#step();
      await Promise.resolve();
      if (state === 'running' || this.states.has(id)) this.states.set(id, state);
      this.#step();
    };
    const unused = () => Promise.reject(new Error('not part of this test'));
    return {
      name: 'local',
      defaultSize: { cpu: 1, memoryMb: 1_024, diskMb: 1_024 },
      enforcement: async () => ({ cpu: null, memoryMb: null, diskMb: null, network: null }),
      create: ({ id }) => move('running')(id),
      resume: move('running'),
      stop: move('stopped'),
      destroy: async (id) => {
        this.#step();
        this.states.delete(id);
        this.#step();
        await Promise.resolve();
      },
      inspect: async (id) => ({ state: this.states.get(id) ?? 'absent', podName: id }),
      exec: unused,
      dial: unused,
      list: async function* (this: void) {},
      close: async () => {},
    };
  }
}

let records: Records;
beforeEach(async () => {
  records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
});
afterEach(() => records.close());

test('whatever happens and whoever is killed, each sandbox comes to its end, and nothing runs or lasts that no record knows', async () => {
  const step = fc.oneof(
    fc.record({
      what: fc.constantFrom('create', 'stop', 'resume', 'touch', 'destroy', 'pass', 'two passes'),
    }),
    fc.record({ what: fc.constant('wait'), minutes: fc.integer({ min: 1, max: 45 }) }),
  );
  const story = fc.array(
    fc.record({ step, target: fc.nat(3), killedAfter: fc.option(fc.nat(4), { nil: undefined, freq: 2 }) }),
    { maxLength: 25 },
  );
  await fc.assert(
    fc.asyncProperty(story, async (events) => {
      const machine = new Machine();
      const clock = pinnedClock(NOON);
      const ids = numberedIds();
      const provider = machine.provider;
      const made: string[] = [];
      const deps = {
        records,
        provider,
        clock,
        ids,
        tokens,
        plane: memoryPreviewPlane({ clock }),
        place: `here-${Math.random()}`,
        quotas: NO_QUOTAS,
      };
      const pass = () => keepLifecycle({ ...deps, limits: LIMITS, failed: () => {} });
      for (const { step: event, target, killedAfter } of events) {
        const id = made[target % Math.max(made.length, 1)];
        const sandbox = id === undefined ? undefined : await records.sandboxes.get(id);
        machine.left = killedAfter ?? Infinity;
        const acts: Record<string, () => Promise<unknown>> = {
          async create() {
            const claimed = await claimSandboxId(deps, `${deps.place}${made.length}`, { owner: ALICE });
            if (claimed === undefined) return;
            made.push(claimed.id);
            await makeSandbox(deps, claimed, () => Promise.resolve());
          },
          stop: async () => sandbox?.observed === 'running' && stopSandbox(deps, sandbox),
          resume: async () => sandbox && resumeSandbox(deps, sandbox),
          touch: async () => sandbox && records.sandboxes.touch(sandbox, clock.now()),
          destroy: async () => sandbox && destroySandbox(deps, sandbox),
          pass,
          'two passes': () => Promise.all([pass(), pass()]),
          wait: async () => clock.advance(('minutes' in event ? event.minutes : 0) * MINUTE),
        };
        await acts[event.what]?.().catch(() => undefined);
      }

      machine.left = Infinity;
      // Long enough for idleness, retention and creations that were cut off, with a pass now and then.
      for (let at = 0; at < 8; at += 1) {
        clock.advance(31 * MINUTE);
        await pass();
      }
      expect([...machine.states]).toEqual([]);
      for (const id of made) {
        expect(await records.sandboxes.get(id)).toMatchObject({
          desired: 'destroyed',
          observed: 'destroyed',
        });
      }
    }),
    { numRuns: 1_000 },
  );
}, 120_000);

test('a sandbox that is used again before it is stopped goes on', async () => {
  const machine = new Machine();
  const clock = pinnedClock(NOON);
  const deps = {
    records,
    provider: machine.provider,
    clock,
    ids: numberedIds(),
    tokens,
    plane: memoryPreviewPlane({ clock }),
    place: 'here',
  };
  const claimed = await claimSandboxId(deps, 'abc', { owner: ALICE });
  if (claimed === undefined) throw new Error('taken');
  await makeSandbox(deps, claimed, () => Promise.resolve());
  clock.advance(31 * MINUTE);
  const { sandboxes } = records;
  // In the very moment between the look and the deed.
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
