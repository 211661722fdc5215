import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { PreviewPlane, PreviewSpec } from '#core/previews/preview-plane.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';

export interface ReaperRace {
  /** The plane of the function that starts the previews and keeps them alive. */
  readonly plane: PreviewPlane;
  /** The planes of two reapers. */
  readonly reapers: readonly [PreviewPlane, PreviewPlane];
  readonly previewSettings: PreviewOptions;
  /** A new preview that expires in half an hour. */
  spec(): PreviewSpec;
  readonly races: number;
  readonly atOnce: number;
  /**
   * Interval within which the keepalives of one round are sent, in milliseconds: about the length
   * of a reaper's pass.
   */
  readonly spreadMs: number;
}

/**
 * Races two reapers against a keepalive on previews that have just expired, repeatedly. Each
 * preview is either kept alive or ended exactly once, and an ended one leaves nothing behind.
 */
export async function raceReapers({
  plane,
  reapers,
  previewSettings,
  spec,
  races,
  atOnce,
  spreadMs,
}: ReaperRace): Promise<void> {
  const records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
  let kept = 0;
  let ended = 0;
  try {
    for (let race = 0; race < races; race += atOnce) {
      const specs = Array.from({ length: atOnce }, spec);
      await Promise.all(specs.map((each) => plane.open(each)));
      const expiry = Math.max(...specs.map(({ expiresAt }) => expiresAt.getTime()));
      const clock = { now: () => new Date(expiry) };
      const [answers, ...reports] = await Promise.all([
        Promise.all(
          specs.map(async ({ token, runId }, at) => {
            // Some before the reapers have listed, some while they delete, some after.
            await pause((at / atOnce) * spreadMs);
            return plane.touch(token, runId, new Date(expiry + 1_800_000));
          }),
        ),
        ...reapers.map((reaper) => reapPreviews({ plane: reaper, clock, records, previewSettings })),
      ]);
      const survivors = await Promise.all(specs.map(({ token }) => plane.find(token)));
      expect(survivors.map((each) => each?.uid)).toEqual(answers.map((each) => each?.uid));
      const lost = answers.filter((each) => each === undefined).length;
      expect(reports.reduce((sum, { reaped }) => sum + reaped, 0)).toBe(lost);
      kept += atOnce - lost;
      ended += lost;
      await Promise.all(survivors.map(async (each) => each && plane.close(each)));
    }
  } finally {
    await records.close();
  }
  // Otherwise there was no race.
  expect(kept).toBeGreaterThan(0);
  expect(ended).toBeGreaterThan(0);
}
