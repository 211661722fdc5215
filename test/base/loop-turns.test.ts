import { expect, test } from '@jest/globals';
import { LoopTurns } from '#base/loop-turns.ts';

/** In milliseconds. */
let now = 0;

/** Blocks the event loop for so long, like a parser does. */
function work(ms: number): void {
  now += ms;
}

/** Works until it is over; counts its pieces. */
class Worker {
  pieces = 0;
  #isOver = false;
  readonly #working: Promise<void>;

  constructor(turns: LoopTurns, owner: string, pieceMs: number) {
    this.#working = this.#work(turns, owner, pieceMs);
  }

  async #work(turns: LoopTurns, owner: string, pieceMs: number): Promise<void> {
    while (!this.#isOver) {
      const turn = turns.next(owner);
      if (turn !== undefined) await turn;
      work(pieceMs);
      this.pieces += 1;
    }
  }

  end(): Promise<void> {
    this.#isOver = true;
    return this.#working;
  }
}

const passes = async (count: number): Promise<void> => {
  for (let pass = 0; pass < count; pass += 1) await new Promise((resolve) => setImmediate(resolve));
};

test('lets other work of the event loop run between turns', async () => {
  const turns = new LoopTurns(() => now);
  const endless = new Worker(turns, 'bob', 1);
  // Would never come back if the worker did not pause.
  await passes(5);
  await endless.end();
  expect(endless.pieces).toBeGreaterThan(0);
});

test('gives an owner with twenty readers the same share as an owner with one', async () => {
  const turns = new LoopTurns(() => now);
  const many = Array.from({ length: 20 }, () => new Worker(turns, 'bob', 6));
  const one = new Worker(turns, 'alice', 6);
  await passes(40);
  await Promise.all([...many, one].map((each) => each.end()));
  const ofMany = many.reduce((sum, { pieces }) => sum + pieces, 0);
  expect(one.pieces).toBeGreaterThan(10);
  expect(one.pieces).toBeGreaterThan(ofMany / 4);
});

test('leaves out the turns of an owner that took more than one', async () => {
  const turns = new LoopTurns(() => now);
  const slow = new Worker(turns, 'bob', 50);
  const quick = new Worker(turns, 'alice', 6);
  await passes(60);
  await Promise.all([slow.end(), quick.end()]);
  expect(quick.pieces).toBeGreaterThan(3 * slow.pieces);
});
