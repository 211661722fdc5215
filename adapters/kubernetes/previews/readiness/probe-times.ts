/** When to probe a route that is being programmed, in milliseconds after its start. Gateways take about as long each time, so each start teaches the next. */
export interface ProbeTimes {
  /** The times of one start: begins at 0, grows without end. */
  schedule(): Generator<number, never, undefined>;
  /** A start was found ready by the probe that was sent at `readyAt`, and not by the one at `failedAt`. A `readyAt` of 0 teaches nothing: that route stood already. */
  learn(readyAt: number, failedAt: number): void;
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
/** A route that was ready at the first look may have been ready sooner: looked into when that leaves so many steps open. */
const OPEN_STEPS = 1.5;
/** What was too early once need not be for ever: forgotten by this share of a step with each start. */
const FORGOTTEN = 0.25;

export function createProbeTimes(): ProbeTimes {
  let expected: number | undefined;
  /** The latest time known to be too early. */
  let tooEarly = 0;
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
    learn(readyAt, failedAt) {
      if (readyAt === 0) return;
      const step = Math.max(FIRST_MS, readyAt * STEP);
      const known = tooEarly - step * FORGOTTEN;
      tooEarly = known < readyAt ? Math.max(known, failedAt) : failedAt;
      const open = readyAt - tooEarly;
      expected = open > step * OPEN_STEPS ? tooEarly + open / 2 : readyAt;
    },
  };
}
