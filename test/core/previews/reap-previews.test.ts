import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { tokenSha256 } from '#core/previews/preview-token.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { stopPreview } from '#core/previews/live-previews.ts';
import type { MemoryPlane } from '#test/doubles/memory-preview-plane.ts';
import { HOUR, MINUTE, NOON, previewHarness } from '../use-cases/preview-harness.ts';

const REST = { kept: 0, lost: 0, swept: 0 };

describe('reaping previews', () => {
  let harness: Awaited<ReturnType<typeof previewHarness>>;
  beforeEach(async () => {
    harness = await previewHarness();
  });
  afterEach(() => harness.records.close());

  const reasonOf = async (token: string) =>
    (await harness.records.previews.tombstone(tokenSha256(token)))?.reason;

  test('ends one at its expiry to the millisecond, and answers gone from then on', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    harness.clock.advance(30 * MINUTE - 1);
    // Not even counted as seen.
    expect(await harness.reap()).toEqual({ ...REST, seen: 0, reaped: 0 });
    expect(await reasonOf(preview.token)).toBeUndefined();
    harness.clock.advance(1);
    expect(await harness.reap()).toEqual({ ...REST, seen: 1, reaped: 1 });
    expect(harness.plane.reaches(preview.token)).toBe(false);
    expect(await reasonOf(preview.token)).toBe('expired');
    expect(await harness.reap()).toEqual({ ...REST, seen: 0, reaped: 0 });
  });

  test('ends one at its maximum lifetime, however often it was kept alive', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    for (let half = 0; half < 16; half += 1) {
      harness.clock.advance(30 * MINUTE - 1);
      await harness.keep(run, preview.token);
    }
    harness.clock.advance(15);
    expect((await harness.reap()).reaped).toBe(0);
    harness.clock.advance(1);
    expect((await harness.reap()).reaped).toBe(1);
    expect(harness.clock.now()).toEqual(new Date(NOON.getTime() + 8 * HOUR));
  });

  test('ends those of a destroyed sandbox, but not of a stopped, unknown or failing one', async () => {
    const [destroyed, stopped] = [await harness.makeRun(), await harness.makeRun()];
    const { preview: orphan } = await harness.start(destroyed);
    const { preview: asleep } = await harness.start(stopped);
    const { preview: strange } = await harness.start({ ...(await harness.makeRun()), sandboxId: 'unknown' });
    await harness.records.sandboxes.setDesired(destroyed.sandboxId, 'destroyed');
    await harness.records.sandboxes.setDesired(stopped.sandboxId, 'stopped');
    await harness.records.sandboxes.setObserved(stopped.sandboxId, 'stopped');
    expect((await harness.reap()).reaped).toBe(0);
    await harness.records.sandboxes.setObserved(destroyed.sandboxId, 'destroyed');
    expect((await harness.reap()).reaped).toBe(1);
    expect([orphan, asleep, strange].map(({ token }) => harness.plane.reaches(token))).toEqual([
      false,
      true,
      true,
    ]);
    expect(await reasonOf(orphan.token)).toBe('orphaned');
  });

  test('ends those of a zone that is served no more', async () => {
    const [moved, other] = [await harness.makeRun(), await harness.makeRun()];
    const { preview } = await harness.start(moved);
    const { preview: stays } = await harness.start(other);
    const plane: MemoryPlane = {
      ...harness.plane,
      async *list(...asked) {
        for await (const each of harness.plane.list(...asked)) {
          yield each.token === preview.token ? { ...each, hasFormerZone: true } : each;
        }
      },
    };
    expect((await reapPreviews({ ...harness.deps, plane })).reaped).toBe(1);
    expect([preview, stays].map(({ token }) => harness.plane.reaches(token))).toEqual([false, true]);
    expect(await reasonOf(preview.token)).toBe('orphaned');
  });

  describe('with traffic that bypasses this process', () => {
    const reapAsking = (lastUsed: MemoryPlane['lastUsed']) =>
      reapPreviews({ ...harness.deps, plane: { ...harness.plane, seesTraffic: false, lastUsed } });

    test('keeps a preview that was used within its idle timeout, and its sandbox, for one more timeout', async () => {
      const run = await harness.makeRun();
      const { preview } = await harness.start(run);
      harness.clock.advance(20 * MINUTE);
      const used = harness.clock.now();
      harness.clock.advance(10 * MINUTE);
      expect(await reapAsking(async () => used)).toEqual({ ...REST, seen: 1, kept: 1, reaped: 0 });
      const kept = await harness.plane.find(preview.token);
      expect(kept?.expiresAt).toEqual(new Date(used.getTime() + 30 * MINUTE));
      expect((await harness.records.sandboxes.get(run.sandboxId))?.lastActiveAt).toEqual(used);
      harness.clock.advance(20 * MINUTE);
      expect(await reapAsking(async () => used)).toEqual({ ...REST, seen: 1, reaped: 1 });
    });

    test('queries traffic once for each due preview, and for no other', async () => {
      const [idle, lively] = [await harness.makeRun(), await harness.makeRun()];
      const { preview } = await harness.start(idle);
      const { preview: other } = await harness.start(lively);
      harness.clock.advance(20 * MINUTE);
      await harness.keep(lively, other.token);
      harness.clock.advance(10 * MINUTE);
      const asked: string[] = [];
      await reapAsking(async ({ token }) => void asked.push(token));
      expect(asked).toEqual([preview.token]);
    });

    test('ends one past its maximum, or stopped, despite traffic', async () => {
      const run = await harness.makeRun();
      await harness.start(run);
      harness.clock.advance(8 * HOUR);
      const lastUsed = async () => harness.clock.now();
      expect(await reapAsking(lastUsed)).toEqual({ ...REST, seen: 1, reaped: 1 });
    });

    test('retries on the next pass if the expiry cannot be moved', async () => {
      const run = await harness.makeRun();
      const { preview } = await harness.start(run);
      harness.clock.advance(30 * MINUTE);
      const down = new Error('the store is away');
      const plane = {
        ...harness.plane,
        seesTraffic: false,
        lastUsed: async () => harness.clock.now(),
        touch: () => Promise.reject(down),
      };
      await expect(reapPreviews({ ...harness.deps, plane })).rejects.toMatchObject({ errors: [down] });
      expect(harness.plane.reaches(preview.token)).toBe(true);
    });
  });

  test('ends nothing while the records are unavailable', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    harness.clock.advance(9 * HOUR);
    const down = new Error('the database is away');
    const records = {
      ...harness.records,
      sandboxes: { ...harness.records.sandboxes, destroyedAmong: () => Promise.reject(down) },
    };
    await expect(reapPreviews({ ...harness.deps, records })).rejects.toBe(down);
    expect(harness.plane.reaches(preview.token)).toBe(true);
  });

  test.each([
    [true, 0],
    [false, 1],
  ])('applies KeepAfterRun=%s and ends %i preview(s) of a completed run', async (keepAfterRun, reaped) => {
    const run = await harness.makeRun();
    const running = await harness.makeRun();
    await harness.start(run);
    await harness.start(running);
    await harness.records.runs.complete(run.id, NOON);
    const preview = { ...harness.previewSettings, keepAfterRun };
    expect((await reapPreviews({ ...harness.deps, previewSettings: preview })).reaped).toBe(reaped);
    expect(harness.plane.stored.size).toBe(2 - reaped);
  });

  describe('between full passes', () => {
    test('inspects only previews that may be due', async () => {
      const run = await harness.makeRun();
      const { preview: idle } = await harness.start(run, 3000);
      harness.clock.advance(29 * MINUTE);
      const { preview: alive } = await harness.start(run, 3001);
      harness.clock.advance(2 * MINUTE);
      expect(await harness.reap()).toEqual({ ...REST, seen: 1, reaped: 1 });
      expect([idle, alive].map(({ token }) => harness.plane.reaches(token))).toEqual([false, true]);
      harness.clock.advance(9 * MINUTE);
      expect(await harness.reap()).toEqual({ ...REST, seen: 1, reaped: 0 });
    });

    test('leaves what ended early to the next full pass, at most ten minutes later', async () => {
      const [stopped, destroyed, completed] = [
        await harness.makeRun(),
        await harness.makeRun(),
        await harness.makeRun(),
      ];
      const { preview } = await harness.start(stopped);
      await harness.start(destroyed);
      await harness.start(completed);
      const preserved = { ...harness.plane, close: async () => false };
      await stopPreview({ ...harness.deps, plane: preserved }, { run: stopped, token: preview.token });
      await harness.records.sandboxes.setObserved(destroyed.sandboxId, 'destroyed');
      await harness.records.runs.complete(completed.id, NOON);
      const reap = () =>
        reapPreviews({
          ...harness.deps,
          previewSettings: { ...harness.previewSettings, keepAfterRun: false },
        });
      for (let minute = 1; minute < 10; minute += 1) {
        harness.clock.advance(MINUTE);
        expect(await reap()).toEqual({ ...REST, seen: 0, reaped: 0 });
      }
      harness.clock.advance(MINUTE);
      expect(await reap()).toEqual({ ...REST, seen: 3, reaped: 3 });
      expect(await reasonOf(preview.token)).toBe('stopped');
    });

    test('does not delay a stop', async () => {
      const run = await harness.makeRun();
      harness.clock.advance(MINUTE);
      const { preview } = await harness.start(run);
      await harness.stop(run, preview.token);
      expect(harness.plane.reaches(preview.token)).toBe(false);
    });
  });

  test('uses only the age of a preview that has unreadable times', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    harness.plane.stored.set(preview.name, { ...preview, expiresAt: undefined, maxUntil: undefined });
    harness.clock.advance(8 * HOUR - 1);
    expect((await harness.reap()).reaped).toBe(0);
    harness.clock.advance(1);
    expect((await harness.reap()).reaped).toBe(1);
  });

  test('keeps one that is kept alive between the decision and the delete', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    harness.clock.advance(31 * MINUTE);
    const records = {
      ...harness.records,
      previews: {
        ...harness.records.previews,
        bury: async (tombstones: Parameters<typeof harness.records.previews.bury>[0]) => {
          await harness.records.previews.bury(tombstones);
          await harness.keep(run, preview.token);
        },
      },
    };
    expect(await reapPreviews({ ...harness.deps, records })).toEqual({
      seen: 1,
      kept: 0,
      reaped: 0,
      lost: 1,
      swept: 0,
    });
    expect(harness.plane.reaches(preview.token)).toBe(true);
  });

  test('counts each preview once if two passes run at once', async () => {
    const run = await harness.makeRun();
    for (const port of [3000, 3001, 3002]) await harness.start(run, port);
    harness.clock.advance(31 * MINUTE);
    const passes = await Promise.all([harness.reap(), harness.reap()]);
    expect(passes.reduce((sum, pass) => sum + pass.reaped, 0)).toBe(3);
    expect(passes.reduce((sum, pass) => sum + pass.lost, 0)).toBe(3);
  });

  test('continues past one that cannot be deleted, and reports it at the end', async () => {
    const run = await harness.makeRun();
    const { preview: first } = await harness.start(run);
    for (const port of [3001, 3002]) await harness.start(run, port);
    harness.clock.advance(31 * MINUTE);
    harness.plane.partiallyMade.push(NOON);
    const stuck = new Error('it is stuck');
    const plane: typeof harness.plane = {
      ...harness.plane,
      close: (preview, ...rest) =>
        preview.name === first.name ? Promise.reject(stuck) : harness.plane.close(preview, ...rest),
    };
    await expect(reapPreviews({ ...harness.deps, plane })).rejects.toMatchObject({ errors: [stuck] });
    expect([...harness.plane.stored.keys()]).toEqual([first.name]);
    expect(harness.plane.partiallyMade).toEqual([]);
  });

  test('publishes each preview that it ended, with the reason', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    harness.clock.advance(31 * MINUTE);
    const reported: string[] = [];
    await reapPreviews({
      ...harness.deps,
      reaped: ({ token }, outcome) => void reported.push(`${token} ${outcome}`),
    });
    expect(reported).toEqual([`${preview.token} idle`]);
  });

  test('deletes tombstones after one day', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    await harness.stop(run, preview.token);
    harness.clock.advance(24 * HOUR);
    await harness.reap();
    expect(await reasonOf(preview.token)).toBe('stopped');
    harness.clock.advance(1);
    await harness.reap();
    expect(await reasonOf(preview.token)).toBeUndefined();
    // The URL still stays ended.
    expect((await harness.start(run)).preview.token).not.toBe(preview.token);
  });
});
