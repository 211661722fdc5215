import type { Clock } from '#core/ports/clock.ts';

/**
 * The time of each creation, later than all before it by a millisecond at least: two creations within one tick of the clock, or around a step back of it, keep
 * their order. The cap of previews rests on that: who came first, and was told so, must never be outranked by one who came later.
 */
export function creationTimes(clock: Clock, earlier: Iterable<Date> = []): () => Date {
  let newest = 0;
  for (const time of earlier) newest = Math.max(newest, time.getTime());
  return () => {
    newest = Math.max(newest + 1, clock.now().getTime());
    return new Date(newest);
  };
}
