/** Does work in its turn. */
export type InTurn = <T>(whose: string, work: () => Promise<T>) => Promise<T>;

/** So much at a time; where more waits, everybody who waits has their turn after each other, however much one of them brings. */
export function fairTurns(most: number): InTurn {
  let running = 0;
  // In the order of turns: whoever has had one goes to the end.
  const waiting = new Map<string, (() => void)[]>();
  const next = () => {
    const [first] = waiting;
    if (first === undefined) {
      running -= 1;
      return;
    }
    const [whose, own] = first;
    const begin = own.shift();
    waiting.delete(whose);
    if (own.length > 0) waiting.set(whose, own);
    begin?.();
  };
  return async (whose, work) => {
    if (running < most) running += 1;
    else {
      await new Promise<void>((resolve) => {
        const own = waiting.get(whose);
        if (own === undefined) waiting.set(whose, [resolve]);
        else own.push(resolve);
      });
    }
    try {
      return await work();
    } finally {
      next();
    }
  };
}
