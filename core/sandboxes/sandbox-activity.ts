import type { Clock } from '../shared/clock-and-ids.ts';
import type { Records } from '../shared/records.ts';
import type { SandboxRecord } from './sandbox-records.ts';

/**
 * Records that sandboxes are in use: once for each `touch`, and again and again between a `begin`
 * and its end.
 */
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

/** Longest time between two heartbeats, in milliseconds; a short ttl has three within it. */
const EVERY_MS = 60_000;

/**
 * Heartbeats for as long as somebody has something of the sandbox open: at once, and again and
 * again until the returned function is called. One without a ttl needs none.
 */
export function sendHeartbeats(
  { records, clock }: { readonly records: Pick<Records, 'sandboxes'>; readonly clock: Clock },
  sandbox: Pick<SandboxRecord, 'id' | 'generation' | 'ttlSeconds'>,
): () => void {
  const { ttlSeconds } = sandbox;
  if (ttlSeconds === null) return () => undefined;
  // One that fails must end nothing: the next one comes soon.
  const heartbeat = () => void records.sandboxes.heartbeat(sandbox, clock.now()).catch(() => undefined);
  const timer = setInterval(heartbeat, Math.min(EVERY_MS, (ttlSeconds * 1_000) / 3)).unref();
  heartbeat();
  return () => clearInterval(timer);
}
