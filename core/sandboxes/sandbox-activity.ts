import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import type { SandboxRecord } from './sandbox-records.ts';

/** Records that sandboxes are in use: once per `touch`, and periodically after a `begin`. */
export class SandboxActivity {
  readonly #records: Pick<Records, 'sandboxes'>;
  readonly #clock: Clock;
  /** Time of the last record, for sandboxes that are or recently were in use. */
  readonly #recorded = new Map<string, number>();
  readonly #open = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ records, clock }: { readonly records: Pick<Records, 'sandboxes'>; readonly clock: Clock }) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Never throws: a failed write must not fail a command; the next one follows soon. */
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

/**
 * Shortest time between two records, in milliseconds. The shortest idle limit contains three: with
 * two, a sandbox in use would be stopped as idle.
 */
const EVERY_MS = 20_000;
/** Longest time between two heartbeats, in milliseconds; a short ttl contains three. */
const HEARTBEAT_EVERY_MS = 60_000;

/**
 * Sends heartbeats while a client has a connection to the sandbox: at once, and periodically until
 * the returned function is called. A sandbox without a ttl needs none.
 */
export function sendHeartbeats(
  { records, clock }: { readonly records: Pick<Records, 'sandboxes'>; readonly clock: Clock },
  sandbox: Pick<SandboxRecord, 'id' | 'generation' | 'ttlSeconds'>,
): () => void {
  const { ttlSeconds } = sandbox;
  if (ttlSeconds === null) return () => undefined;
  // A failed heartbeat is ignored: the next one follows soon.
  const heartbeat = () => void records.sandboxes.heartbeat(sandbox, clock.now()).catch(() => undefined);
  const timer = setInterval(heartbeat, Math.min(HEARTBEAT_EVERY_MS, (ttlSeconds * 1_000) / 3)).unref();
  heartbeat();
  return () => clearInterval(timer);
}
