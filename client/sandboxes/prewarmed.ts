import type { Sandbox } from './sandbox.ts';

/** A sandbox created ahead of use. */
export class Prewarmed implements AsyncDisposable {
  readonly #making: Promise<Sandbox>;
  #isTaken = false;

  constructor(making: Promise<Sandbox>) {
    this.#making = making;
    // `take` reports the failure.
    making.catch(() => undefined);
  }

  /** Resolves once it runs; the caller then owns it. */
  take(): Promise<Sandbox> {
    this.#isTaken = true;
    return this.#making;
  }

  /** Deletes it, unless it was taken. */
  async discard(): Promise<void> {
    if (this.#isTaken) return;
    this.#isTaken = true;
    const sandbox = await this.#making.catch(() => undefined);
    await sandbox?.delete();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }
}
