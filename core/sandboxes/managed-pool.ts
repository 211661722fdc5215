import type { Owner } from '#base/clock-and-ids.ts';
import type { SandboxOptions } from './sandbox-capacity.ts';
import type { SandboxRecord } from './sandbox-records.ts';
import {
  type WarmPool,
  type WarmPoolConfig,
  type WarmPoolStats,
  missingFromPool,
  tooManyInPool,
} from './warm-pool.ts';
import { ABANDONED_MS } from './sandbox-lifecycle.ts';
import { POOL_OWNER } from './sandbox-owner.ts';
import { claimSandboxId, type MakeSandboxDeps, makeSandbox } from './create-sandbox.ts';
import { destroySandbox } from './end-sandbox.ts';

export interface ManagedPoolDeps extends MakeSandboxDeps {
  readonly config: WarmPoolConfig;
  /** Called with each error of background work. */
  readonly failed: (error: unknown) => void;
}

/** Milliseconds until a taken sandbox is replaced: most first commands have ended by then. */
const REPLACE_AFTER_MS = 100;

/**
 * A pool that Porthole manages itself, over any provider: a warm sandbox is an ordinary record of
 * the reserved `POOL_OWNER`. A crash leaks nothing: a sandbox that was being created or handed over
 * is still `creating`, and recovery removes it.
 */
export class ManagedPool implements WarmPool {
  readonly #deps: ManagedPoolDeps;
  /** Whether the pool is managed. After a restart its sandboxes may not run until checked. */
  #open = false;
  /** Aborts creations. */
  #making = new AbortController();
  #closed = false;
  /** The current run that levels the pool, and the queued next one. */
  #levelling: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  /** Until the next levelling after a sandbox was taken. */
  #soon: NodeJS.Timeout | undefined;
  readonly #background = new Set<Promise<void>>();

  constructor(deps: ManagedPoolDeps) {
    this.#deps = deps;
  }

  async stats(): Promise<WarmPoolStats> {
    const { config } = this.#deps;
    const { pool, total } = await this.#sight();
    const warm = pool.filter(isWarm).length;
    // A sandbox that is taken between the two reads counts in neither.
    const assigned = Math.max(0, total - pool.length);
    return { warm, assigned, total: warm + assigned, config, maxInstances: config.maxInstances || null };
  }

  prime(): Promise<void> {
    return this.#tracked(this.#prime());
  }

  async refresh(): Promise<void> {
    if (!this.#open) return;
    await this.#removeDead();
    await this.#level();
  }

  async drain(): Promise<void> {
    await this.#stop();
    const { pool } = await this.#sight();
    await this.#eachOf(pool.filter(isWarm), (sandbox) => this.#remove(sandbox));
  }

  async take(
    owner: Owner,
    signal?: AbortSignal,
    sandboxOptions?: SandboxOptions,
  ): Promise<SandboxRecord | undefined> {
    const { records, clock, installationId } = this.#deps;
    while (this.#open) {
      const taken = await records.capacity.takeWarm(installationId, POOL_OWNER, owner, clock.now(), {
        sandboxOptions,
      });
      if (taken === undefined) return undefined;
      this.#levelSoon();
      try {
        if (await this.#runs(taken, signal)) return taken;
      } catch (error) {
        this.#inBackground(destroySandbox(this.#deps, taken));
        throw error;
      }
      this.#inBackground(destroySandbox(this.#deps, taken));
    }
    return undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#stop();
    await Promise.allSettled(this.#background);
  }

  async #prime(): Promise<void> {
    if (this.#closed) return;
    if (this.#making.signal.aborted) this.#making = new AbortController();
    const { signal } = this.#making;
    await this.#removeDead();
    if (signal.aborted) return;
    this.#open = this.#deps.config.warmTarget > 0;
    await this.#level();
  }

  /** Stops creating; resolves once unfinished sandboxes have been removed. */
  async #stop(): Promise<void> {
    this.#open = false;
    clearTimeout(this.#soon);
    this.#soon = undefined;
    this.#making.abort();
    await Promise.allSettled([this.#levelling, this.#next]);
  }

  /** Delayed, because starting a sandbox competes with the first command in the taken one. */
  #levelSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#inBackground(this.#level());
    }, REPLACE_AFTER_MS).unref();
  }

  /**
   * Mutually exclusive. A call during a levelling waits for the next one, because the current one
   * may already have read the pool.
   */
  #level(): Promise<void> {
    const { signal } = this.#making;
    this.#next ??= this.#levelling
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        this.#levelling = this.#levelOut(signal);
        return this.#levelling;
      });
    return this.#next;
  }

  async #levelOut(signal: AbortSignal): Promise<void> {
    let hasMore = true;
    while (hasMore && !signal.aborted) hasMore = await this.#scale(signal);
  }

  /** Scales by one batch. Returns whether another batch may be needed. */
  async #scale(signal: AbortSignal): Promise<boolean> {
    const { config, ids, failed } = this.#deps;
    const before = await this.#sight();
    await this.#eachOf(tooManyInPool(before.pool, before.total, config).filter(isWarm), (sandbox) =>
      this.#remove(sandbox),
    );
    const missing = missingFromPool(before.pool.length, before.total, config);
    const claims = Array.from({ length: Math.min(missing, config.scaleBatchSize) }, () =>
      claimSandboxId(this.#deps, ids.sandbox(), { owner: POOL_OWNER }),
    );
    const claimed = (await Promise.all(claims)).filter((sandbox) => sandbox !== undefined);
    if (claimed.length === 0) return false;

    // Other instances may have claimed concurrently: all see the same order, and each withdraws its
    // own excess.
    const after = await this.#sight();
    const tooMany = new Set(tooManyInPool(after.pool, after.total, config).map(({ id }) => id));
    const made = await Promise.allSettled(
      claimed.map((sandbox) =>
        tooMany.has(sandbox.id)
          ? destroySandbox(this.#deps, sandbox)
          : makeSandbox(this.#deps, sandbox, () => Promise.resolve(), signal),
      ),
    );
    const failures = made.filter((result) => result.status === 'rejected');
    for (const { reason } of failures) if (!signal.aborted) failed(reason);
    return failures.length === 0 && tooMany.size === 0;
  }

  async #removeDead(): Promise<void> {
    const { clock } = this.#deps;
    const { pool } = await this.#sight();
    await this.#eachOf(pool, async (sandbox) => {
      if (isWarm(sandbox)) {
        if (!(await this.#runs(sandbox))) await this.#remove(sandbox);
      } else if (clock.now().getTime() - sandbox.createdAt.getTime() > ABANDONED_MS) {
        await destroySandbox(this.#deps, sandbox);
      }
    });
  }

  /** Takes it out of the pool first, so that no caller gets a sandbox that is being removed. */
  async #remove({ id }: SandboxRecord): Promise<void> {
    const { records, clock, installationId } = this.#deps;
    const own = await records.capacity.takeWarm(installationId, POOL_OWNER, POOL_OWNER, clock.now(), { id });
    if (own !== undefined) await destroySandbox(this.#deps, own);
  }

  async #runs({ id }: SandboxRecord, signal?: AbortSignal): Promise<boolean> {
    const { state } = await this.#deps.sandboxes.inspect(id, signal);
    return state === 'running';
  }

  async #sight(): Promise<{ readonly pool: readonly SandboxRecord[]; readonly total: number }> {
    const { records, installationId } = this.#deps;
    const [pool, total] = await Promise.all([
      records.capacity.wantedBy(POOL_OWNER, installationId),
      records.capacity.countWanted(installationId),
    ]);
    return { pool, total };
  }

  /** Runs `work` on all, `scaleBatchSize` at a time, then throws the first failure. */
  async #eachOf(
    sandboxes: readonly SandboxRecord[],
    work: (sandbox: SandboxRecord) => Promise<void>,
  ): Promise<void> {
    const waiting = sandboxes.values();
    let failure: { readonly error: unknown } | undefined;
    const worker = async () => {
      for (const sandbox of waiting) {
        await work(sandbox).catch((error: unknown) => {
          failure ??= { error };
        });
      }
    };
    await Promise.all(Array.from({ length: this.#deps.config.scaleBatchSize }, worker));
    if (failure !== undefined) throw failure.error;
  }

  #inBackground(work: Promise<void>): void {
    void this.#tracked(work).catch(this.#deps.failed);
  }

  /** Makes `close` wait for the work. */
  #tracked(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
    return tracked;
  }
}

function isWarm({ observed }: SandboxRecord): boolean {
  return observed === 'running';
}
