/** Counts pieces of work, and how many of them shared one pass of the event loop. */
export function passesOf() {
  let [total, most, inThis, isOver] = [0, 0, 0, false];
  const pass = () => {
    inThis = 0;
    if (!isOver) setImmediate(pass);
  };
  setImmediate(pass);
  return {
    count() {
      total += 1;
      inThis += 1;
      most = Math.max(most, inThis);
    },
    end: () => void (isOver = true),
    get total() {
      return total;
    },
    get most() {
      return most;
    },
  };
}
