/**
 * The contract of PreviewPlane, for any kind of previews. It calls the plane through the port
 * alone; operations outside the port (serve a request, corrupt an object) are the harness's.
 */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { PortholeError } from '#base/errors.ts';
import type { Preview, PreviewPlane, PreviewSpec } from '#core/previews/preview-plane.ts';
import { formatPreviewToken, previewName } from '#core/previews/preview-token.ts';
import { collect } from '#test/support/collect.ts';

/** An empty plane and its environment. */
export interface PreviewPlaneHarness {
  /** Full with `capacity` live previews, which is 40 or more. */
  readonly plane: PreviewPlane;
  readonly capacity: number;
  /** A sandbox in which a server listens on one port and none on the other. */
  readonly sandbox: {
    readonly id: string;
    readonly podName: string;
    readonly listens: number;
    readonly silent: number;
  };
  /** The clock that dates the plane's objects. */
  now(): Date;
  /** Whether a request to the preview's URL (or port) reaches the sandbox now. */
  reaches(preview: Preview): Promise<boolean>;
  /**
   * The same store through another instance, as after a restart; undefined if previews end with the
   * process.
   */
  reopen?(): Promise<PreviewPlane>;
  /**
   * Puts foreign or unreadable objects into the store, and returns a snapshot function: results are
   * equal while the objects are unchanged.
   */
  plantForeign?(): Promise<() => Promise<unknown>>;
  /** Leaves the remains of a crash during `open`, created at `at`. */
  leavePartiallyMade?(at: Date): Promise<void>;
  dispose(): Promise<void>;
}

export interface PreviewPlaneOptions {
  /** How often the property runs; 1,000 if a call is cheap. */
  readonly runs: number;
}

const MINUTE = 60_000;

export function previewPlaneContract(
  name: string,
  make: () => Promise<PreviewPlaneHarness>,
  { runs }: PreviewPlaneOptions,
): void {
  describe(`${name} as a preview plane`, () => {
    let harness: PreviewPlaneHarness;
    let plane: PreviewPlane;
    beforeEach(async () => {
      harness = await make();
      ({ plane } = harness);
    });
    afterEach(() => harness.dispose());

    /** A spec with times in whole seconds, which every store can represent. */
    const spec = (change: Partial<PreviewSpec> = {}): PreviewSpec => {
      const startedAt = new Date(Math.floor(harness.now().getTime() / 1_000) * 1_000);
      return {
        token: formatPreviewToken(randomBytes(32)),
        runId: 'run_contract',
        owner: 'alice',
        sandboxId: harness.sandbox.id,
        podName: harness.sandbox.podName,
        targetPort: harness.sandbox.listens,
        startedAt,
        expiresAt: new Date(startedAt.getTime() + 30 * MINUTE),
        maxUntil: new Date(startedAt.getTime() + 480 * MINUTE),
        ...change,
      };
    };
    /** Opens and confirms a preview, and returns its final state. */
    const live = async (change: Partial<PreviewSpec> = {}): Promise<Preview> => {
      const { preview } = await plane.open(spec(change));
      await plane.awaitReady(preview);
      return existing(preview.token);
    };
    const existing = async (token: string): Promise<Preview> => {
      const found = await plane.find(token);
      if (found === undefined) throw new Error('the preview is gone');
      return found;
    };
    const names = async (runId?: string) => {
      const listed = await collect(plane.list(runId === undefined ? {} : { runId }));
      return listed.map((preview) => preview.name).sort();
    };
    const later = (time: Date | undefined, minutes: number) =>
      new Date((time ?? harness.now()).getTime() + minutes * MINUTE);

    describe('opening', () => {
      test('makes a preview of what was asked for, named after its token', async () => {
        const wanted = spec();
        const { preview, created } = await plane.open(wanted);
        expect(created).toBe(true);
        expect(preview).toMatchObject({
          token: wanted.token,
          name: previewName(wanted.token),
          runId: 'run_contract',
          owner: 'alice',
          sandboxId: harness.sandbox.id,
          podName: harness.sandbox.podName,
          targetPort: harness.sandbox.listens,
          startedAt: wanted.startedAt,
          expiresAt: plane.hasUrls ? wanted.expiresAt : undefined,
          maxUntil: plane.hasUrls ? wanted.maxUntil : undefined,
        });
        expect(Math.abs(preview.createdAt.getTime() - harness.now().getTime())).toBeLessThan(MINUTE);
        if (plane.hasUrls) {
          expect(new URL(preview.url ?? '').hostname.split('.')[0]).toBe(`${wanted.token}-preview`);
          expect(preview.localPort).toBe(0);
        } else {
          expect(preview.url).toBeNull();
          expect(preview.localPort).toBeGreaterThan(0);
        }
      });

      test('returns the existing preview unchanged when it is repeated', async () => {
        const first = await live();
        const again = await plane.open(
          spec({ token: first.token, expiresAt: later(first.expiresAt, 10), owner: 'mallory' }),
        );
        expect(again).toEqual({ preview: first, created: false });
      });

      test('makes one preview from 32 calls at once', async () => {
        const wanted = spec();
        const opened = await Promise.all(Array.from({ length: 32 }, () => plane.open(wanted)));
        expect(opened.filter(({ created }) => created)).toHaveLength(1);
        expect(new Set(opened.map(({ preview }) => preview.uid)).size).toBe(1);
        expect(new Set(opened.map(({ preview }) => preview.localPort)).size).toBe(1);
        expect(await names()).toEqual([previewName(wanted.token)]);
      });

      test('stops at the capacity, also at once, and still returns existing previews', async () => {
        const { capacity } = harness;
        const first = await live();
        const rest = await Promise.allSettled(Array.from({ length: capacity + 9 }, () => plane.open(spec())));
        const refused = rest.filter((each) => each.status === 'rejected');
        expect(refused).toHaveLength(10);
        for (const { reason } of refused) {
          expect(reason).toBeInstanceOf(PortholeError);
          expect((reason as PortholeError).code).toBe('too_many_previews');
        }
        expect(await names()).toHaveLength(capacity);
        expect((await plane.open(spec({ token: first.token }))).preview.uid).toBe(first.uid);
        await plane.close(first);
        expect((await plane.open(spec())).created).toBe(true);
      });
    });

    describe('serving', () => {
      test('begins with the confirmation at the latest, and ends with the close', async () => {
        const preview = await live();
        expect(await harness.reaches(preview)).toBe(true);
        expect(await plane.close(preview)).toBe(true);
        expect(await harness.reaches(preview)).toBe(false);
      });

      test('is ready where something listens', async () => {
        expect(await plane.awaitReady((await plane.open(spec())).preview)).toEqual({ ready: true });
      });

      test('goes on where nothing listens, and says so', async () => {
        if (!plane.hasUrls) return;
        const { preview } = await plane.open(spec({ targetPort: harness.sandbox.silent }));
        expect(await plane.awaitReady(preview)).toEqual({ ready: false, reason: 'nothing_listens' });
        expect((await existing(preview.token)).uid).toBe(preview.uid);
      });

      test('restores nothing for a preview that is gone', async () => {
        const preview = await live();
        await plane.close(preview);
        await plane.awaitReady(preview);
        expect(await plane.find(preview.token)).toBeUndefined();
        expect(await harness.reaches(preview)).toBe(false);
      });
    });

    describe('finding and listing', () => {
      test('know nothing of a token that was never opened', async () => {
        expect(await plane.find(spec().token)).toBeUndefined();
        expect(await names()).toEqual([]);
      });

      test('show each run its own, and all of them without a run', async () => {
        const mine = [await live(), await live()];
        const other = await live({ runId: 'run_other' });
        expect(await names('run_contract')).toEqual(mine.map((preview) => preview.name).sort());
        expect(await names('run_other')).toEqual([other.name]);
        expect(await names('run_nobody')).toEqual([]);
        expect(await names()).toEqual([...mine, other].map((preview) => preview.name).sort());
        expect(await collect(plane.list({ runId: 'run_other' }))).toEqual([other]);
      });

      test('show each sandbox its own', async () => {
        const mine = await live();
        const other = await live({ sandboxId: 'other' });
        expect(await collect(plane.list({ sandboxId: mine.sandboxId }))).toEqual([mine]);
        expect(await collect(plane.list({ sandboxId: 'other' }))).toEqual([other]);
      });
    });

    test('include a due preview when they list due previews, and a preview without expiry', async () => {
      const soon = await live();
      const late = await live({ expiresAt: later(soon.expiresAt, 60) });
      const listed = await collect(plane.list({ dueBefore: later(soon.expiresAt, 0) }));
      expect(listed).toContainEqual(soon);
      if (!plane.hasUrls) expect(listed).toContainEqual(late);
      expect(await collect(plane.list({ dueBefore: later(late.expiresAt, 0), runId: 'run_other' }))).toEqual(
        [],
      );
    });

    describe('the places of a run', () => {
      const isAmongTwo = (preview: Preview) => plane.isAmongFirst(preview, 2);

      test('go to those that came first, and are free again when these are gone', async () => {
        const [first, second, third] = [await live(), await live(), await live()];
        for (const each of [first, second]) expect(await isAmongTwo(each)).toBe(true);
        expect(await isAmongTwo(third)).toBe(false);
        await plane.close(first);
        expect(await isAmongTwo(third)).toBe(true);
        expect(await isAmongTwo(await live())).toBe(false);
        expect(await isAmongTwo(second)).toBe(true);
      });

      test('are counted across runs for an owner', async () => {
        const isAmongOwners = (preview: Preview) => plane.isAmongFirst(preview, 2, 'owner');
        const [first, second] = [await live(), await live({ runId: 'run_other' })];
        const third = await live({ runId: 'run_third' });
        const bobs = await live({ runId: 'run_bobs', owner: 'bob' });
        expect(await isAmongOwners(second)).toBe(true);
        expect(await isAmongOwners(third)).toBe(false);
        expect(await isAmongOwners(bobs)).toBe(true);
        expect(await collect(plane.list({ owner: 'bob' }))).toEqual([bobs]);
        await plane.close(first);
        expect(await isAmongOwners(third)).toBe(true);
      });

      test('are not taken by other runs', async () => {
        await live({ runId: 'run_other' });
        await live({ runId: 'run_other' });
        expect(await isAmongTwo(await live())).toBe(true);
      });

      test('stay with a preview that is kept alive and confirmed again', async () => {
        const [first, second] = [await live(), await live()];
        const third = await live();
        await plane.touch(first.token, first.runId, later(first.expiresAt, 10));
        await plane.awaitReady(second);
        for (const each of [first, second]) expect(await isAmongTwo(await existing(each.token))).toBe(true);
        expect(await isAmongTwo(third)).toBe(false);
      });

      test('are given out at once to exactly as many as there are', async () => {
        for (let round = 0; round < 5; round += 1) {
          const runId = `run_round-${round}`;
          const opened = await Promise.all(
            Array.from({ length: 6 }, async () => {
              const { preview } = await plane.open(spec({ runId }));
              return { preview, stays: await isAmongTwo(preview) };
            }),
          );
          expect(opened.filter(({ stays }) => stays)).toHaveLength(2);
          for (const { preview, stays } of opened) expect(await isAmongTwo(preview)).toBe(stays);
          for (const { preview } of opened) await plane.close(preview);
        }
      });
    });

    describe('detaching', () => {
      test('is for planes that traffic reaches without this process', () => {
        expect(plane.setAttached === undefined).toBe(plane.seesTraffic);
      });

      test('ends the traffic of a preview, and nothing else, until it is attached', async () => {
        const preview = await live();
        await plane.setAttached?.(preview, false);
        if (plane.setAttached === undefined) return;
        const detached = await existing(preview.token);
        expect(detached).toEqual({ ...preview, isDetached: true, version: detached.version });
        expect(await harness.reaches(detached)).toBe(false);
        expect(await collect(plane.list({ sandboxId: preview.sandboxId }))).toEqual([detached]);
        await plane.setAttached(detached, true);
        expect(await existing(preview.token)).toEqual({ ...preview, version: expect.any(String) });
        expect(await harness.reaches(preview)).toBe(true);
      });

      test('is undone by a start', async () => {
        const preview = await live();
        await plane.setAttached?.(preview, false);
        const again = await plane.open(spec({ token: preview.token }));
        expect(again).toMatchObject({ created: false, preview: { uid: preview.uid } });
        expect(again.preview.isDetached ?? false).toBe(false);
        expect(await harness.reaches(preview)).toBe(true);
      });

      test('loses against a write since the preview was read, and restores none that has ended', async () => {
        const preview = await live();
        if (plane.setAttached === undefined) return;
        const kept = await plane.touch(preview.token, preview.runId, later(preview.expiresAt, 10));
        await plane.setAttached(preview, false);
        expect(await existing(preview.token)).toEqual(kept);
        await plane.close(preview);
        await plane.setAttached(preview, true);
        expect(await plane.find(preview.token)).toBeUndefined();
      });
    });

    describe('closing', () => {
      test('ends it once', async () => {
        const preview = await live();
        expect(await plane.close(preview)).toBe(true);
        expect(await plane.close(preview)).toBe(false);
        expect(await plane.find(preview.token)).toBeUndefined();
        expect(await names()).toEqual([]);
      });

      test('succeeds for one of many concurrent callers', async () => {
        const preview = await live();
        const closed = await Promise.all(
          Array.from({ length: 16 }, () =>
            plane.close(preview, { uid: preview.uid, version: preview.version }),
          ),
        );
        expect(closed.filter(Boolean)).toHaveLength(1);
      });

      test('does nothing to another object under the same name', async () => {
        const first = await live();
        await plane.close(first);
        const second = await live({ token: first.token });
        expect(second.uid).not.toBe(first.uid);
        expect(await plane.close(first, { uid: first.uid })).toBe(false);
        // A gateway may have written the status of the route meanwhile.
        expect(await existing(first.token)).toEqual({ ...second, version: expect.any(String) });
      });

      test('leaves the others alone', async () => {
        const [one, other] = [await live(), await live()];
        await plane.close(one);
        expect(await existing(other.token)).toEqual(other);
        expect(await harness.reaches(other)).toBe(true);
      });
    });

    describe('touching', () => {
      test('never brings back what is gone', async () => {
        const preview = await live();
        await plane.close(preview);
        expect(await plane.touch(preview.token, preview.runId, later(preview.expiresAt, 10))).toBeUndefined();
        expect(await plane.find(preview.token)).toBeUndefined();
        expect(await harness.reaches(preview)).toBe(false);
      });

      test('moves the expiry and the version, and nothing else', async () => {
        const preview = await live();
        const kept = await plane.touch(preview.token, preview.runId, later(preview.expiresAt, 10));
        if (!plane.hasUrls) {
          expect(kept).toBeUndefined();
          return;
        }
        expect(kept?.version).not.toBe(preview.version);
        expect(kept).toEqual({ ...preview, expiresAt: later(preview.expiresAt, 10), version: kept?.version });
        expect(await existing(preview.token)).toEqual(kept);
      });

      test('never passes max-until, and never goes back', async () => {
        const preview = await live();
        if (!plane.hasUrls) return;
        const kept = await plane.touch(preview.token, preview.runId, later(preview.maxUntil, 60));
        expect(kept?.expiresAt).toEqual(preview.maxUntil);
        const again = await plane.touch(preview.token, preview.runId, later(preview.expiresAt, 1));
        expect(again?.expiresAt).toEqual(preview.maxUntil);
      });

      test('does nothing for another run', async () => {
        const preview = await live();
        expect(await plane.touch(preview.token, 'run_other', later(preview.expiresAt, 10))).toBeUndefined();
        expect(await existing(preview.token)).toEqual(preview);
      });

      test('wins in time against a close with the previous version', async () => {
        if (!plane.hasUrls) return;
        for (let round = 0; round < 20; round += 1) {
          const preview = await live();
          const close = () => plane.close(preview, { uid: preview.uid, version: preview.version });
          const touch = () => plane.touch(preview.token, preview.runId, later(preview.expiresAt, 10));
          const [first, second] = round % 2 === 0 ? [close, touch] : [touch, close];
          const answers = await Promise.all([first(), second()]);
          const [closed, kept] = (round % 2 === 0 ? answers : answers.toReversed()) as [boolean, Preview?];
          expect(closed).toBe(kept === undefined);
          expect(await plane.find(preview.token)).toEqual(kept);
        }
      });
    });

    describe('what was left behind', () => {
      test('is found again by the next instance', async () => {
        if (harness.reopen === undefined) return;
        const previews = [await live({ org: 'acme' }), await live({ runId: 'run_other' })];
        const kept = await plane.touch(
          previews[0]?.token ?? '',
          'run_contract',
          later(previews[0]?.expiresAt, 10),
        );
        const next = await harness.reopen();
        const found = await collect(next.list());
        const byName = (a: Preview, b: Preview) => (a.name < b.name ? -1 : 1);
        expect(found.sort(byName)).toEqual([kept, previews[1]].map((each) => each as Preview).sort(byName));
        for (const preview of found) expect(await harness.reaches(preview)).toBe(true);
      });

      test('is neither shown nor changed if it belongs to others or cannot be read', async () => {
        if (harness.plantForeign === undefined) return;
        const look = await harness.plantForeign();
        const before = await look();
        expect(await names()).toEqual([]);
        const preview = await live();
        const next = (await harness.reopen?.()) ?? plane;
        expect(await collect(next.list())).toEqual([preview]);
        expect(await next.sweep(later(harness.now(), 10_000))).toBe(0);
        await next.close(preview);
        expect(await look()).toEqual(before);
      });

      test('half-made by a crash is swept once it is two minutes old', async () => {
        if (harness.leavePartiallyMade === undefined) return;
        const now = harness.now();
        const preview = await live();
        await harness.leavePartiallyMade(later(now, -3));
        await harness.leavePartiallyMade(later(now, -1));
        expect(await plane.sweep(now)).toBe(1);
        expect(await plane.sweep(now)).toBe(0);
        expect(await plane.sweep(later(now, 2))).toBe(1);
        expect(await names()).toEqual([preview.name]);
      });
    });

    type Step =
      | { readonly do: 'open' | 'awaitReady' | 'find'; readonly which: number }
      | { readonly do: 'touch'; readonly which: number; readonly run: number; readonly minutes: number }
      | {
          readonly do: 'close';
          readonly which: number;
          readonly mind: 'nothing' | 'uid' | 'version' | 'stale';
        };
    const which = fc.nat(2);
    const step: fc.Arbitrary<Step> = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('open', 'awaitReady', 'find'), which }) },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('touch' as const),
          which,
          run: fc.nat(1),
          minutes: fc.integer({ min: -60, max: 600 }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('close' as const),
          which,
          mind: fc.constantFrom('nothing', 'uid', 'version', 'stale'),
        }),
      },
    );

    test(`agrees with a map of previews, whatever the order of calls (${runs} times)`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const specs = [0, 1, 2].map((at) => spec({ runId: `run_${at % 2}` }));
          const model = new Map<string, { expiresAt: number; uid: string }>();
          const uids = new Set<string>();
          for (const each of steps) {
            const wanted = specs[each.which] as PreviewSpec;
            const { token } = wanted;
            const known = model.get(token);
            if (each.do === 'open') {
              const { preview, created } = await plane.open(wanted);
              expect(created).toBe(known === undefined);
              if (created) {
                expect(uids.has(preview.uid)).toBe(false);
                uids.add(preview.uid);
                await plane.awaitReady(preview);
                model.set(token, { expiresAt: wanted.expiresAt.getTime(), uid: preview.uid });
              }
            } else if (each.do === 'touch') {
              const to = later(wanted.startedAt, each.minutes);
              const kept = await plane.touch(token, `run_${each.run}`, to);
              if (known === undefined || wanted.runId !== `run_${each.run}` || !plane.hasUrls) {
                expect(kept).toBeUndefined();
              } else {
                const moved = Math.min(to.getTime(), wanted.maxUntil.getTime());
                known.expiresAt = Math.max(known.expiresAt, moved);
                expect(kept?.expiresAt?.getTime()).toBe(known.expiresAt);
              }
            } else if (each.do === 'close') {
              const existing = await plane.find(token);
              const mind = {
                nothing: undefined,
                uid: { uid: existing?.uid },
                version: { uid: existing?.uid, version: existing?.version },
                stale: { uid: existing?.uid, version: `${existing?.version}-stale` },
              }[each.mind];
              const gone = await plane.close({ name: previewName(token) }, mind);
              expect(gone).toBe(known !== undefined && each.mind !== 'stale');
              if (gone) model.delete(token);
            } else if (each.do === 'awaitReady' && known !== undefined) {
              await plane.awaitReady(await existing(token));
            }
            const found = await plane.find(token);
            const expected = model.get(token);
            expect(found?.uid).toBe(expected?.uid);
            if (plane.hasUrls) expect(found?.expiresAt?.getTime()).toBe(expected?.expiresAt);
          }
          const expected = specs.filter(({ token }) => model.has(token));
          expect(await names()).toEqual(expected.map(({ token }) => previewName(token)).sort());
          for (const { token } of expected) await plane.close({ name: previewName(token) });
        }),
        { numRuns: runs },
      );
    });
  });
}
