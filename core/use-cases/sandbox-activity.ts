import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';

/** How exactly activity is known, in milliseconds: it is written down at most this often. */
const EVERY_MS = 60_000;

/** Records that sandboxes are in use: once for each `touch`, and again and again between a `begin` and its end. */
export class SandboxActivity {
  readonly #records: Pick<Records, 'sandboxes'>;
  readonly #clock: Clock;
  /** When it was recorded last, of sandboxes that are in use or were a moment ago. */
  readonly #recorded = new Map<string, number>();
  readonly #open = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ records, clock }: { readonly records: Pick<Records, 'sandboxes'>; readonly clock: Clock }) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Never rejects: a failed record must fail no command; the next one comes in a minute. */
  touch(id: string): void {
    void this.#record(id).catch(() => this.#recorded.delete(id));
  }

  /** In use until the returned function is called. */
  begin(id: string): () => void {
    this.touch(id);
    this.#open.set(id, (this.#open.get(id) ?? 0) + 1);
    this.#timer ??= setInterval(() => this.#recordAll(), EVERY_MS).unref();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#open.get(id) ?? 1) - 1;
      if (left > 0) this.#open.set(id, left);
      else this.#open.delete(id);
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #recordAll(): void {
    for (const id of this.#open.keys()) this.touch(id);
    const old = this.#clock.now().getTime() - 2 * EVERY_MS;
    for (const [id, at] of this.#recorded) if (at < old) this.#recorded.delete(id);
  }

  async #record(id: string): Promise<void> {
    const now = this.#clock.now();
    if (now.getTime() - (this.#recorded.get(id) ?? 0) < EVERY_MS) return;
    this.#recorded.set(id, now.getTime());
    const sandbox = await this.#records.sandboxes.get(id);
    if (sandbox !== undefined) await this.#records.sandboxes.touch(sandbox, now);
  }
}
