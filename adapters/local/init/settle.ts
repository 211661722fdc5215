/**
 * Calls `done` once output has been silent for three turns of the event loop. What a command wrote before its exit lies in
 * its pipe already, so each turn in which it can be read brings a piece of it; three silent ones mean that all has come.
 * Turns in which reading is held back do not count.
 */
export function whenSilent(
  output: { readonly bytes: number; readonly held: boolean },
  done: () => void,
): void {
  let quiet = 0;
  let seen = output.bytes;
  const turn = (): void => {
    if (output.held) {
      quiet = 0;
      // Nothing happens until the host reads on: no need to spin.
      setTimeout(turn, 5);
      return;
    }
    quiet = output.bytes === seen ? quiet + 1 : 0;
    seen = output.bytes;
    if (quiet === 3) done();
    else setImmediate(turn);
  };
  setImmediate(turn);
}
