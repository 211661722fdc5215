import type { Visit } from '../access/access-gate.ts';
import type { PreviewTarget } from '../preview-target.ts';
import type { UpstreamPool } from '../upstream/upstream-pool.ts';

/** An exchange that holds connections open: a running request, or a WebSocket. */
export interface OpenExchange {
  /** A WebSocket, which does not end by itself. */
  readonly isUpgrade: boolean;
  /** Of a preview that is not open to everyone. */
  readonly visit: Visit | undefined;
  /** Token of the preview by which it came: its own, or a sibling's. */
  readonly enteredBy: string;
  /** Destroys both ends at once. */
  abort(): void;
}

/** Maximum of open requests and WebSockets per preview; a browser tab needs fewer than ten. */
const MAX_OPEN = 512;
/** Milliseconds between two reports that a preview is in use. */
const TOUCH_EVERY_MS = 1_000;

/** One live preview in the data path: its connections, and whether it is in use. */
export class PreviewBackend {
  readonly target: PreviewTarget;
  readonly pool: UpstreamPool;
  readonly #touched: (target: PreviewTarget) => void;
  readonly #removed: () => void;
  readonly #open = new Set<OpenExchange>();
  #touchAfter = 0;

  /** `touched`: the preview is in use; `removed`: an exchange has ended. */
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

  /** Number of running exchanges. */
  get open(): number {
    return this.#open.size;
  }

  get exchanges(): readonly OpenExchange[] {
    return [...this.#open];
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

  /** Call it for bytes in either direction. Cheap: reports at most once a second. */
  touch(): void {
    const now = performance.now();
    if (now < this.#touchAfter) return;
    this.#touchAfter = now + TOUCH_EVERY_MS;
    this.#touched(this.target);
  }

  destroyUpgrades(): void {
    for (const exchange of this.#open) if (exchange.isUpgrade) exchange.abort();
  }

  /** Ends all exchanges and connections at once. */
  destroy(): void {
    this.pool.close();
    for (const exchange of this.#open) exchange.abort();
  }
}
