/** When to probe a route that is being programmed, in milliseconds after its start. Gateways take about as long each time, so each start teaches the next. */
export interface ProbeTimes {
  /** The times of one start: begins at 0, grows without end. */
  schedule(): Generator<number, never, undefined>;
  /** A start was found ready by the probe that was sent at `readyAt`; 0 teaches nothing, for that route stood already. */
  learn(readyAt: number): void;
}

const FIRST_MS = 10;
/** While nothing is known: doubles at first, and then loses at most so much of the wait. */
const DOUBLE_UNTIL_MS = 160;
const GROWTH = 1.25;
/** When the time is known: a few looks before, in case it has become shorter, and steps of this share of it from then on. */
const EARLY_FACTOR = 2.5;
const EARLY_UNTIL = 0.75;
const STEP = 0.05;
const LATE_UNTIL = 1.5;

export function createProbeTimes(): ProbeTimes {
  let expected: number | undefined;
  return {
    *schedule() {
      const due = expected;
      yield 0;
      let at = FIRST_MS;
      if (due !== undefined) {
        for (; at < due * EARLY_UNTIL; at *= EARLY_FACTOR) yield at;
        const step = Math.max(FIRST_MS, due * STEP);
        for (at = due; at < due * LATE_UNTIL; at += step) yield at;
      }
      for (; ; at = Math.max(at * (at < DOUBLE_UNTIL_MS ? 2 : GROWTH), FIRST_MS)) yield at;
    },
    learn(readyAt) {
      if (readyAt === 0) return;
      // Found at the first look: it may be ready sooner still. Half a step back finds out, and costs one look when it is not.
      const back = readyAt === expected ? Math.max(FIRST_MS, readyAt * STEP) / 2 : 0;
      expected = Math.max(FIRST_MS, readyAt - back);
    },
  };
}
