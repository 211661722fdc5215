import type { PreviewTarget } from './preview-target.ts';
import type { UpstreamPool } from './upstream/upstream-pool.ts';

/** Something that holds connections open: a request under way, or a WebSocket. */
export interface OpenExchange {
  /** A WebSocket: it would not end by itself. */
  readonly isUpgrade: boolean;
  /** Destroys both ends at once. */
  abort(): void;
}

/**
 * Requests and WebSockets that one preview may have open at a time; a browser tab needs fewer than
 * ten.
 */
const MAX_OPEN = 512;
/** Milliseconds between two reports that a preview is in use. */
const TOUCH_EVERY_MS = 1_000;

/** One live preview as the data path sees it: its connections, and whether anybody uses them. */
export class PreviewBackend {
  readonly target: PreviewTarget;
  readonly pool: UpstreamPool;
  readonly #touched: (target: PreviewTarget) => void;
  readonly #removed: () => void;
  readonly #open = new Set<OpenExchange>();
  #touchAfter = 0;

  /** `touched`: the preview is in use; `removed`: one exchange fewer is under way. */
  constructor(
    target: PreviewTarget,
    pool: UpstreamPool,
    touched: (target: PreviewTarget) => void,
    removed: () => void,
  ) {
    this.target = target;
    this.pool = pool;
    this.#touched = touched;
    this.#removed = removed;
  }

  /** How many exchanges are under way. */
  get open(): number {
    return this.#open.size;
  }

  get full(): boolean {
    return this.#open.size >= MAX_OPEN;
  }

  add(exchange: OpenExchange): void {
    this.#open.add(exchange);
  }

  remove(exchange: OpenExchange): void {
    this.#open.delete(exchange);
    this.#removed();
  }

  /** The person's side did something real. Cheap: reports at most once a second. */
  touch(): void {
    const now = performance.now();
    if (now < this.#touchAfter) return;
    this.#touchAfter = now + TOUCH_EVERY_MS;
    this.#touched(this.target);
  }

  destroyUpgrades(): void {
    for (const exchange of this.#open) if (exchange.isUpgrade) exchange.abort();
  }

  /** Ends everything at once. */
  destroy(): void {
    this.pool.close();
    for (const exchange of this.#open) exchange.abort();
  }
}
