import { setTimeout as pause } from 'node:timers/promises';
import type { Owner } from '../shared/clock-and-ids.ts';
import type { SandboxRecord, SandboxOptions } from './sandbox-records.ts';
import {
  type WarmPool,
  type WarmPoolConfig,
  type WarmPoolStats,
  missingFromPool,
  tooManyInPool,
} from './warm-pool.ts';
import { POOL_OWNER } from './sandbox-owner.ts';
import { claimSandboxId, type MakeSandboxDeps, makeSandbox } from './create-sandbox.ts';
import { destroySandbox } from './end-sandbox.ts';

export interface ManagedPoolDeps extends MakeSandboxDeps {
  readonly config: WarmPoolConfig;
  /** Told of what went wrong in the background. */
  readonly failed: (error: unknown) => void;
}

/**
 * A sandbox that has not come up after this long belongs to an instance that was killed over it:
 * ten times as long as a cluster's may take to come up.
 */
const ABANDONED_MS = 30 * 60_000;

/**
 * What is taken is replaced after so many milliseconds: most first commands have been answered by
 * then.
 */
const REPLACE_AFTER_MS = 100;

/**
 * A pool that Porthole keeps itself, over any provider: a warm sandbox is a record like others, of
 * an owner that nobody can be. A crash leaves nothing behind for ever: what was being made, or
 * handed over, is a sandbox that counts as being created, which recovery removes.
 */
export function managedPool(deps: ManagedPoolDeps): WarmPool {
  return new ManagedPool(deps);
}

class ManagedPool implements WarmPool {
  readonly #deps: ManagedPoolDeps;
  /** Whether it is looked after. Before the first look what a restart has left may not run yet. */
  #open = false;
  /** Ends what is being made. */
  #making = new AbortController();
  #closed = false;
  /** The levelling that was begun last, and the one that waits for it. */
  #levelling: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  readonly #background = new Set<Promise<void>>();

  constructor(deps: ManagedPoolDeps) {
    this.#deps = deps;
  }

  async stats(): Promise<WarmPoolStats> {
    const { config } = this.#deps;
    const { pool, total } = await this.#sight();
    const warm = pool.filter(isWarm).length;
    // What is taken between the two looks is counted in neither.
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
    const { records, clock, place } = this.#deps;
    while (this.#open) {
      const taken = await records.sandboxes.takeWarm(place, POOL_OWNER, owner, clock.now(), {
        sandboxOptions,
      });
      if (taken === undefined) return undefined;
      this.#inBackground(this.#levelSoon());
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

  /** Makes no more; resolves once what was being made has been removed. */
  async #stop(): Promise<void> {
    this.#open = false;
    this.#making.abort();
    await Promise.allSettled([this.#levelling, this.#next]);
  }

  /** To start a sandbox takes what the taker's first command needs as well: that comes first. */
  async #levelSoon(): Promise<void> {
    const { signal } = this.#making;
    await pause(REPLACE_AFTER_MS, undefined, { signal, ref: false }).catch(() => undefined);
    if (!signal.aborted) await this.#level();
  }

  /**
   * One at a time; who comes in the middle of one waits for another, because the first may have
   * looked already.
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

  /** One batch. Says whether another one may be of use. */
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

    // Others may have claimed as many at the same time: all see the same order, and each withdraws
    // what is too much of its own.
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

  /** Takes it out of the pool first, so that nobody gets what is about to go. */
  async #remove({ id }: SandboxRecord): Promise<void> {
    const { records, clock, place } = this.#deps;
    const own = await records.sandboxes.takeWarm(place, POOL_OWNER, POOL_OWNER, clock.now(), { id });
    if (own !== undefined) await destroySandbox(this.#deps, own);
  }

  async #runs({ id }: SandboxRecord, signal?: AbortSignal): Promise<boolean> {
    const { state } = await this.#deps.provider.inspect(id, signal);
    return state === 'running';
  }

  async #sight(): Promise<{ readonly pool: readonly SandboxRecord[]; readonly total: number }> {
    const { records, place } = this.#deps;
    const [pool, total] = await Promise.all([
      records.sandboxes.wantedBy(POOL_OWNER, place),
      records.sandboxes.countWanted(place),
    ]);
    return { pool, total };
  }

  /** As many at once as sandboxes are made; all of them, and then the first failure. */
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

  /** `close` waits for it. */
  #tracked(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
    return tracked;
  }
}

function isWarm({ observed }: SandboxRecord): boolean {
  return observed === 'running';
}
