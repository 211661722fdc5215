/**
 * The API server's clock, by which every time that is stored is written and read: so that functions and reapers whose clocks differ by minutes still agree on
 * when a preview ends.
 */
export interface ServerTime {
  /** Learns from the `Date` of an answer to a request that was sent and answered at these times of our own clock, in milliseconds. */
  observe(date: string | undefined, sentAt: number, receivedAt: number): void;
  /** Milliseconds that the server's clock is ahead of ours; exactly 0 while they agree. */
  ahead(): number;
}

/**
 * A `Date` has whole seconds and takes its time to arrive, so clocks that differ by less than this agree. Wide enough that the estimate stays put: times that
 * are compared with each other must have been moved by the same amount.
 */
const TOLERANCE_MS = 2_000;

export function createServerTime(): ServerTime {
  let ahead = 0;
  return {
    observe(date, sentAt, receivedAt) {
      const second = date === undefined ? Number.NaN : Date.parse(date);
      if (Number.isNaN(second)) return;
      const least = second - receivedAt;
      const most = second + 999 - sentAt;
      if (ahead >= least - TOLERANCE_MS && ahead <= most + TOLERANCE_MS) return;
      ahead = Math.round((least + most) / 2_000) * 1_000;
    },
    ahead: () => ahead,
  };
}
