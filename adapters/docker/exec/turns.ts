/** Lets so many do something at a time for each key; the others wait for their turn, in their order. */
export class Turns {
  readonly #most: number;
  readonly #queues = new Map<string, { running: number; readonly waiting: (() => void)[] }>();

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key) ?? { running: 0, waiting: [] };
    this.#queues.set(key, queue);
    if (queue.running < this.#most) queue.running += 1;
    else await new Promise<void>((resolve) => queue.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = queue.waiting.shift();
      // Its turn goes over to the next.
      if (next !== undefined) next();
      else if ((queue.running -= 1) === 0) this.#queues.delete(key);
    }
  }
}
