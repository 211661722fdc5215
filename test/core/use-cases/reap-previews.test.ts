import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { tokenSha256 } from '#core/rules/preview-token.ts';
import { reapPreviews } from '#core/use-cases/reap-previews.ts';
import { stopPreview } from '#core/use-cases/stop-preview.ts';
import type { MemoryPlane } from '#test/doubles/memory-preview-plane.ts';
import { HOUR, MINUTE, NOON, previewHouse } from './preview-house.ts';

const REST = { kept: 0, lost: 0, swept: 0 };

describe('reaping previews', () => {
  let house: Awaited<ReturnType<typeof previewHouse>>;
  beforeEach(async () => {
    house = await previewHouse();
  });
  afterEach(() => house.records.close());

  const reasonOf = async (token: string) =>
    (await house.records.previews.tombstone(tokenSha256(token)))?.reason;

  test('ends one at its expiry to the millisecond, and says so to whoever asks for it', async () => {
    const run = await house.makeRun();
    const { preview } = await house.start(run);
    house.clock.advance(30 * MINUTE - 1);
    // Not even looked at.
    expect(await house.reap()).toEqual({ ...REST, seen: 0, reaped: 0 });
    expect(await reasonOf(preview.token)).toBeUndefined();
    house.clock.advance(1);
    expect(await house.reap()).toEqual({ ...REST, seen: 1, reaped: 1 });
    expect(house.plane.reaches(preview.token)).toBe(false);
    expect(await reasonOf(preview.token)).toBe('expired');
    expect(await house.reap()).toEqual({ ...REST, seen: 0, reaped: 0 });
  });

  test('ends one at its maximum, however often it was kept alive', async () => {
    const run = await house.makeRun();
    const { preview } = await house.start(run);
    for (let half = 0; half < 16; half += 1) {
      house.clock.advance(30 * MINUTE - 1);
      await house.keep(run, preview.token);
    }
    house.clock.advance(15);
    expect((await house.reap()).reaped).toBe(0);
    house.clock.advance(1);
    expect((await house.reap()).reaped).toBe(1);
    expect(house.clock.now()).toEqual(new Date(NOON.getTime() + 8 * HOUR));
  });

  test('ends those of a destroyed sandbox, and of no stopped, unknown or failing one', async () => {
    const [destroyed, stopped] = [await house.makeRun(), await house.makeRun()];
    const { preview: orphan } = await house.start(destroyed);
    const { preview: asleep } = await house.start(stopped);
    const { preview: strange } = await house.start({ ...(await house.makeRun()), sandboxId: 'unknown' });
    await house.records.sandboxes.setDesired(destroyed.sandboxId, 'destroyed');
    await house.records.sandboxes.setDesired(stopped.sandboxId, 'stopped');
    await house.records.sandboxes.setObserved(stopped.sandboxId, 'stopped');
    expect((await house.reap()).reaped).toBe(0);
    await house.records.sandboxes.setObserved(destroyed.sandboxId, 'destroyed');
    expect((await house.reap()).reaped).toBe(1);
    expect([orphan, asleep, strange].map(({ token }) => house.plane.reaches(token))).toEqual([
      false,
      true,
      true,
    ]);
    expect(await reasonOf(orphan.token)).toBe('orphaned');
  });

  describe('whose traffic passes elsewhere', () => {
    const reapAsking = (lastUsed: MemoryPlane['lastUsed']) =>
      reapPreviews({ ...house.deps, plane: { ...house.plane, seesTraffic: false, lastUsed } });

    test('keeps one that was used within its idle window, and its sandbox, until a window after that use', async () => {
      const run = await house.makeRun();
      const { preview } = await house.start(run);
      house.clock.advance(20 * MINUTE);
      const used = house.clock.now();
      house.clock.advance(10 * MINUTE);
      expect(await reapAsking(async () => used)).toEqual({ ...REST, seen: 1, kept: 1, reaped: 0 });
      const kept = await house.plane.find(preview.token);
      expect(kept?.expiresAt).toEqual(new Date(used.getTime() + 30 * MINUTE));
      expect((await house.records.sandboxes.get(run.sandboxId))?.lastActiveAt).toEqual(used);
      house.clock.advance(20 * MINUTE);
      expect(await reapAsking(async () => used)).toEqual({ ...REST, seen: 1, reaped: 1 });
    });

    test('asks once for each that is due, and for no other', async () => {
      const [idle, lively] = [await house.makeRun(), await house.makeRun()];
      const { preview } = await house.start(idle);
      const { preview: other } = await house.start(lively);
      house.clock.advance(20 * MINUTE);
      await house.keep(lively, other.token);
      house.clock.advance(10 * MINUTE);
      const asked: string[] = [];
      await reapAsking(async ({ token }) => void asked.push(token));
      expect(asked).toEqual([preview.token]);
    });

    test('never keeps one past its maximum, nor one that was stopped', async () => {
      const run = await house.makeRun();
      await house.start(run);
      house.clock.advance(8 * HOUR);
      const lastUsed = async () => house.clock.now();
      expect(await reapAsking(lastUsed)).toEqual({ ...REST, seen: 1, reaped: 1 });
    });

    test('leaves one to the next pass whose expiry cannot be moved', async () => {
      const run = await house.makeRun();
      const { preview } = await house.start(run);
      house.clock.advance(30 * MINUTE);
      const down = new Error('the store is away');
      const plane = {
        ...house.plane,
        seesTraffic: false,
        lastUsed: async () => house.clock.now(),
        touch: () => Promise.reject(down),
      };
      await expect(reapPreviews({ ...house.deps, plane })).rejects.toMatchObject({ errors: [down] });
      expect(house.plane.reaches(preview.token)).toBe(true);
    });
  });

  test('ends nothing when the records cannot be asked', async () => {
    const run = await house.makeRun();
    const { preview } = await house.start(run);
    house.clock.advance(9 * HOUR);
    const down = new Error('the database is away');
    const records = {
      ...house.records,
      sandboxes: { ...house.records.sandboxes, destroyedAmong: () => Promise.reject(down) },
    };
    await expect(reapPreviews({ ...house.deps, records })).rejects.toBe(down);
    expect(house.plane.reaches(preview.token)).toBe(true);
  });

  test.each([
    [true, 0],
    [false, 1],
  ])('with KeepAfterRun=%s ends %i of a completed run', async (keepAfterRun, reaped) => {
    const run = await house.makeRun();
    const running = await house.makeRun();
    await house.start(run);
    await house.start(running);
    await house.records.runs.complete(run.id, NOON);
    const preview = { ...house.preview, keepAfterRun };
    expect((await reapPreviews({ ...house.deps, preview })).reaped).toBe(reaped);
    expect(house.plane.stored.size).toBe(2 - reaped);
  });

  describe('most of the time', () => {
    test('looks only at what may be due', async () => {
      const run = await house.makeRun();
      const { preview: idle } = await house.start(run, 3000);
      house.clock.advance(29 * MINUTE);
      const { preview: alive } = await house.start(run, 3001);
      house.clock.advance(2 * MINUTE);
      expect(await house.reap()).toEqual({ ...REST, seen: 1, reaped: 1 });
      expect([idle, alive].map(({ token }) => house.plane.reaches(token))).toEqual([false, true]);
      house.clock.advance(9 * MINUTE);
      expect(await house.reap()).toEqual({ ...REST, seen: 1, reaped: 0 });
    });

    test('leaves what has ended before its time to the next full pass, ten minutes later at most', async () => {
      const [stopped, destroyed, completed] = [
        await house.makeRun(),
        await house.makeRun(),
        await house.makeRun(),
      ];
      const { preview } = await house.start(stopped);
      await house.start(destroyed);
      await house.start(completed);
      const preserved = { ...house.plane, close: async () => false };
      await stopPreview({ ...house.deps, plane: preserved }, { run: stopped, token: preview.token });
      await house.records.sandboxes.setObserved(destroyed.sandboxId, 'destroyed');
      await house.records.runs.complete(completed.id, NOON);
      const reap = () => reapPreviews({ ...house.deps, preview: { ...house.preview, keepAfterRun: false } });
      for (let minute = 1; minute < 10; minute += 1) {
        house.clock.advance(MINUTE);
        expect(await reap()).toEqual({ ...REST, seen: 0, reaped: 0 });
      }
      house.clock.advance(MINUTE);
      expect(await reap()).toEqual({ ...REST, seen: 3, reaped: 3 });
      expect(await reasonOf(preview.token)).toBe('stopped');
    });

    test('does not keep a stop waiting', async () => {
      const run = await house.makeRun();
      house.clock.advance(MINUTE);
      const { preview } = await house.start(run);
      await house.stop(run, preview.token);
      expect(house.plane.reaches(preview.token)).toBe(false);
    });
  });

  test('judges a preview whose times cannot be read by its age alone', async () => {
    const run = await house.makeRun();
    const { preview } = await house.start(run);
    house.plane.stored.set(preview.name, { ...preview, expiresAt: undefined, maxUntil: undefined });
    house.clock.advance(8 * HOUR - 1);
    expect((await house.reap()).reaped).toBe(0);
    house.clock.advance(1);
    expect((await house.reap()).reaped).toBe(1);
  });

  test('leaves one that is kept alive between the judgement and the delete', async () => {
    const run = await house.makeRun();
    const { preview } = await house.start(run);
    house.clock.advance(31 * MINUTE);
    const records = {
      ...house.records,
      previews: {
        ...house.records.previews,
        bury: async (tombstones: Parameters<typeof house.records.previews.bury>[0]) => {
          await house.records.previews.bury(tombstones);
          await house.keep(run, preview.token);
        },
      },
    };
    expect(await reapPreviews({ ...house.deps, records })).toEqual({
      seen: 1,
      kept: 0,
      reaped: 0,
      lost: 1,
      swept: 0,
    });
    expect(house.plane.reaches(preview.token)).toBe(true);
  });

  test('twice at once counts each preview once', async () => {
    const run = await house.makeRun();
    for (const port of [3000, 3001, 3002]) await house.start(run, port);
    house.clock.advance(31 * MINUTE);
    const passes = await Promise.all([house.reap(), house.reap()]);
    expect(passes.reduce((sum, pass) => sum + pass.reaped, 0)).toBe(3);
    expect(passes.reduce((sum, pass) => sum + pass.lost, 0)).toBe(3);
  });

  test('goes on past one that cannot be deleted, and says so at the end', async () => {
    const run = await house.makeRun();
    const { preview: first } = await house.start(run);
    for (const port of [3001, 3002]) await house.start(run, port);
    house.clock.advance(31 * MINUTE);
    house.plane.halfMade.push(NOON);
    const stuck = new Error('it is stuck');
    const plane: typeof house.plane = {
      ...house.plane,
      close: (preview, ...rest) =>
        preview.name === first.name ? Promise.reject(stuck) : house.plane.close(preview, ...rest),
    };
    await expect(reapPreviews({ ...house.deps, plane })).rejects.toMatchObject({ errors: [stuck] });
    expect([...house.plane.stored.keys()]).toEqual([first.name]);
    expect(house.plane.halfMade).toEqual([]);
  });

  test('tells of each one that it has really ended, and why', async () => {
    const run = await house.makeRun();
    const { preview } = await house.start(run);
    house.clock.advance(31 * MINUTE);
    const told: string[] = [];
    await reapPreviews({
      ...house.deps,
      reaped: ({ token }, verdict) => void told.push(`${token} ${verdict}`),
    });
    expect(told).toEqual([`${preview.token} idle`]);
  });

  test('forgets tombstones after a day, and not before', async () => {
    const run = await house.makeRun();
    const { preview } = await house.start(run);
    await house.stop(run, preview.token);
    house.clock.advance(24 * HOUR);
    await house.reap();
    expect(await reasonOf(preview.token)).toBe('stopped');
    house.clock.advance(1);
    await house.reap();
    expect(await reasonOf(preview.token)).toBeUndefined();
    // The URL stays ended all the same.
    expect((await house.start(run)).preview.token).not.toBe(preview.token);
  });
});
