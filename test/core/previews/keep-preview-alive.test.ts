import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { keepPreviewAlive } from '#core/previews/live-previews.ts';
import { codeOf, HOUR, MINUTE, NOON, previewHarness } from '../use-cases/preview-harness.ts';

describe('keeping a preview alive', () => {
  let harness: Awaited<ReturnType<typeof previewHarness>>;
  beforeEach(async () => {
    harness = await previewHarness();
  });
  afterEach(() => harness.records.close());

  test('extends its expiry to 30 minutes from now', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    harness.clock.advance(10 * MINUTE);
    expect((await harness.keep(run, preview.token)).expiresAt?.toISOString()).toBe(
      '2026-03-01T12:40:00.000Z',
    );
  });

  test('extends it every minute up to its maximum lifetime', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    for (let minute = 1; minute < 8 * 60; minute += 1) {
      harness.clock.advance(MINUTE);
      await harness.keep(run, preview.token);
      if (minute % 60 === 0) expect((await harness.reap()).reaped).toBe(0);
    }
    expect((await harness.plane.find(preview.token))?.expiresAt?.toISOString()).toBe(
      '2026-03-01T20:00:00.000Z',
    );
    harness.clock.advance(MINUTE - 1);
    expect((await harness.reap()).reaped).toBe(0);
    harness.clock.advance(1);
    expect((await harness.reap()).reaped).toBe(1);
  });

  test('never moves the expiry back or past the maximum, even if the clock jumps', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: -HOUR, max: 2 * HOUR }), { maxLength: 12 }),
        async (steps) => {
          const run = await harness.makeRun();
          const began = harness.clock.now().getTime();
          const { preview } = await harness.start(run);
          let before = preview.expiresAt as Date;
          for (const step of steps) {
            harness.clock.advance(step);
            const keeping = harness.keep(run, preview.token);
            if (harness.clock.now().getTime() >= began + 8 * HOUR) {
              expect(await codeOf(keeping)).toBe('preview_expired');
              continue;
            }
            const { expiresAt } = await keeping;
            expect(expiresAt?.getTime()).toBeGreaterThanOrEqual(before.getTime());
            expect(expiresAt?.getTime()).toBeLessThanOrEqual(began + 8 * HOUR);
            before = expiresAt as Date;
          }
          await harness.plane.close(preview);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('returns not found for a gone, unknown or foreign preview, and restores nothing', async () => {
    const [mine, other] = [await harness.makeRun(), await harness.makeRun()];
    const { preview: gone } = await harness.start(mine);
    const { preview: foreign } = await harness.start(other);
    await harness.stop(mine, gone.token);
    harness.clock.advance(MINUTE);
    const unknown = harness.tokens.preview('key-1', mine.id, 4000, 0);
    for (const token of [gone.token, unknown, foreign.token]) {
      expect(await codeOf(harness.keep(mine, token))).toBe('preview_not_found');
    }
    expect(harness.plane.stored.size).toBe(1);
    expect((await harness.plane.find(foreign.token))?.expiresAt).toEqual(
      new Date(NOON.getTime() + 30 * MINUTE),
    );
  });

  test('counts as activity of its sandbox', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    harness.clock.advance(20 * MINUTE);
    await harness.keep(run, preview.token);
    const sandbox = await harness.records.sandboxes.get(run.sandboxId);
    expect(sandbox?.lastActiveAt).toEqual(new Date(NOON.getTime() + 20 * MINUTE));
  });

  test('returns gone past the maximum lifetime, before and after the reaper ran', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    for (let minute = 20; minute < 8 * 60; minute += 20) {
      harness.clock.advance(20 * MINUTE);
      await harness.keep(run, preview.token);
    }
    harness.clock.advance(20 * MINUTE);
    const before = await harness.records.sandboxes.get(run.sandboxId);
    for (const reaped of [0, 1, 0]) {
      if (reaped === 1) expect((await harness.reap()).reaped).toBe(1);
      const error: unknown = await harness.keep(run, preview.token).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'preview_expired', status: 410, retryable: false });
    }
    expect(await harness.records.sandboxes.get(run.sandboxId)).toEqual(before);
    const other = await harness.makeRun();
    expect(await codeOf(harness.keep(other, preview.token))).toBe('preview_not_found');
  });

  test('returns not found after the idle timeout', async () => {
    const run = await harness.makeRun();
    const { preview } = await harness.start(run);
    harness.clock.advance(30 * MINUTE);
    await harness.reap();
    expect(await codeOf(harness.keep(run, preview.token))).toBe('preview_not_found');
  });

  test('rejects loopback sessions', async () => {
    const run = await harness.makeRun();
    const plane = { ...harness.plane, hasUrls: false };
    expect(await codeOf(keepPreviewAlive({ ...harness.deps, plane }, { run, token: 'any' }))).toBe(
      'preview_not_enabled',
    );
  });
});
