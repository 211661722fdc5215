/** What is read of a command's output. */
export interface Settling {
  /** Read so far, from all sources. */
  readonly bytes: number;
  /** Reading is held back, because the reader behind is slow. */
  readonly held: boolean;
  /** Calls `then` once it is no more. */
  onRelease(then: () => void): void;
}

/** More than can lie in the two pipes of a command: Linux lets it make each as large as 1 MiB. */
const MOST_LEFT = 2 * 1024 * 1024;

/**
 * Calls `done` once output has been silent for three turns of the event loop. What a command wrote before its exit lies in
 * its pipe already, so each turn in which it can be read brings a piece of it; three silent ones mean that all has come. So does more than pipes hold: the rest was written
 * after the exit, by what was left in the background, which may never be silent. Turns in which reading is held back do not count.
 */
export function whenSilent(output: Settling, done: () => void): void {
  let quiet = 0;
  const atExit = output.bytes;
  let seen = atExit;
  const turn = (): void => {
    if (output.bytes - atExit > MOST_LEFT) return done();
    if (output.held) {
      quiet = 0;
      return output.onRelease(turn);
    }
    quiet = output.bytes === seen ? quiet + 1 : 0;
    seen = output.bytes;
    if (quiet === 3) done();
    else setImmediate(turn);
  };
  setImmediate(turn);
}
