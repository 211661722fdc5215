import { later, type WakingClock } from '#base/clock-and-ids.ts';
import { createWakeSignal } from '#base/wake-signal.ts';

/** A change counts once nothing has changed for this time, in milliseconds. */
const QUIET_MS = 1_000;
/**
 * Pause after the consumer's work, as a multiple of its duration: code in a sandbox may cause
 * changes without end, and its work takes at most a fifth of the time.
 */
const PAUSE_FACTOR = 4;
/** Names of one batch; more are counted, not named. */
const MAX_NAMES = 100;
/** A name that changes during that many works in a row, and never between them, is their effect. */
const CAUSED_AFTER = 3;
const IDLE_MS = 60_000;

/**
 * The names of what changed, each time that nothing more changes for a second. What the consumer
 * does with them is its work: names that change only meanwhile (a visit counter, a database) are
 * soon ignored, or each work would cause the next one.
 * @param sources yield the name of each change, until their signal is aborted
 */
export async function* quietChanges(
  clock: WakingClock,
  sources: (signal: AbortSignal) => readonly AsyncIterable<string>[],
  signal: AbortSignal,
): AsyncGenerator<readonly string[], void> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const wake = createWakeSignal(clock, [until]);
  const changed = new Set<string>();
  const during = new Set<string>();
  let caused = new Map<string, number>();
  let isWorking = false;
  let last = clock.now();
  const failures: unknown[] = [];
  const read = async (source: AsyncIterable<string>): Promise<void> => {
    for await (const name of source) {
      if (changed.size < MAX_NAMES) changed.add(name);
      if (!isWorking) caused.delete(name);
      else if (during.size < MAX_NAMES) during.add(name);
      last = clock.now();
      wake.notify();
    }
  };
  const reading = sources(until).map((source) =>
    read(source).catch((error: unknown) => {
      if (!until.aborted) failures.push(error);
      wake.notify();
    }),
  );
  let next = clock.now();
  try {
    while (!until.aborted && failures.length === 0) {
      const quietAt = new Date(Math.max(last.getTime() + QUIET_MS, next.getTime()));
      if (changed.size === 0) await wake.until(later(clock, IDLE_MS));
      else if (clock.now() < quietAt) await wake.until(quietAt);
      else {
        const names = [...changed].toSorted();
        changed.clear();
        during.clear();
        const began = clock.now();
        isWorking = true;
        yield names;
        isWorking = false;
        const ended = clock.now().getTime();
        next = new Date(ended + PAUSE_FACTOR * (ended - began.getTime()));
        caused = new Map([...during].map((name) => [name, (caused.get(name) ?? 0) + 1]));
        for (const [name, times] of caused) if (times >= CAUSED_AFTER) changed.delete(name);
      }
    }
    if (failures.length > 0) throw failures[0];
  } finally {
    over.abort();
    wake.close();
    await Promise.all(reading);
  }
}
