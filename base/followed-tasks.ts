/** Tasks that run while someone follows them: one for each key, shared by its followers. */
export class FollowedTasks {
  readonly #failed: (key: string, error: unknown) => void;
  readonly #tasks = new Map<string, { followers: number; readonly over: AbortController }>();
  readonly #running = new Set<Promise<void>>();
  readonly #closed = new AbortController();

  /** @param failed called if a task that is still followed ends with an error */
  constructor(failed: (key: string, error: unknown) => void) {
    this.#failed = failed;
  }

  /** Starts the task unless it runs. It is aborted when its last follower calls the result. */
  follow(key: string, task: (signal: AbortSignal) => Promise<void>): () => void {
    const entry = this.#tasks.get(key) ?? { followers: 0, over: new AbortController() };
    entry.followers += 1;
    if (entry.followers === 1) {
      this.#tasks.set(key, entry);
      this.#run(key, task, AbortSignal.any([entry.over.signal, this.#closed.signal]));
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      entry.followers -= 1;
      if (entry.followers > 0) return;
      this.#tasks.delete(key);
      entry.over.abort();
    };
  }

  /** Aborts all tasks, and waits for them. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#running);
  }

  #run(key: string, task: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): void {
    const running = task(signal).catch((error: unknown) => {
      if (!signal.aborted) this.#failed(key, error);
    });
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }
}
