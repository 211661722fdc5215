import { addAbortListener } from 'node:events';
import type { WakingClock } from './clock-and-ids.ts';

export interface FairLimits {
  /** Most concurrent work of one owner. */
  readonly perOwner: number;
  /** Most concurrent work of all owners. */
  readonly total: number;
  /** Most waiting work of one owner. */
  readonly waiting: number;
}

/** An acquired place. */
export interface Place {
  /** From here the client sets the pace: counts for its owner only, not for the total. */
  releaseSharedSlot(): void;
  end(): void;
}

interface Owner {
  readonly most: number;
  running: number;
  /** Sequence number of the last place it got; 0 for none. */
  last: number;
  readonly waiting: (() => void)[];
}

/**
 * A fair semaphore: a free place goes to the waiting owner with the fewest places, and among equals
 * to the one that got its last place the longest time ago.
 */
export class FairQueue {
  readonly #limits: FairLimits;
  readonly #owners = new Map<string, Owner>();
  #running = 0;
  #given = 0;

  constructor(limits: FairLimits) {
    this.#limits = limits;
  }

  /**
   * A promise only if it must wait. Undefined if the owner's waiting limit is reached.
   * @param signal called only if it must wait
   * @param most replaces the limit per owner
   */
  enter(
    name: string,
    signal: () => AbortSignal | undefined = () => undefined,
    most = this.#limits.perOwner,
  ): Place | undefined | Promise<Place> {
    const owner = this.#owners.get(name) ?? { most, running: 0, last: 0, waiting: [] };
    this.#owners.set(name, owner);
    if (this.#running < this.#limits.total && owner.running < owner.most) {
      this.#give(owner);
      return this.#place(name, owner);
    }
    if (owner.waiting.length >= this.#limits.waiting) {
      this.#forget(name, owner);
      return undefined;
    }
    return this.#wait(name, owner, signal()).then(() => this.#place(name, owner));
  }

  #place(name: string, owner: Owner): Place {
    let holds: 'both' | 'own' | 'nothing' = 'both';
    return {
      releaseSharedSlot: () => {
        if (holds !== 'both') return;
        holds = 'own';
        this.#running -= 1;
        this.#next();
      },
      end: () => {
        if (holds === 'nothing') return;
        if (holds === 'both') this.#running -= 1;
        holds = 'nothing';
        owner.running -= 1;
        this.#next();
        this.#forget(name, owner);
      },
    };
  }

  #give(owner: Owner): void {
    this.#running += 1;
    owner.running += 1;
    owner.last = this.#given += 1;
  }

  #wait(name: string, owner: Owner, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        owner.waiting.splice(owner.waiting.indexOf(begin), 1);
        this.#forget(name, owner);
        reject(signal?.reason as Error);
      };
      const begin = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      owner.waiting.push(begin);
      if (signal?.aborted === true) leave();
      else signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #next(): void {
    if (this.#running >= this.#limits.total) return;
    let next: Owner | undefined;
    for (const owner of this.#owners.values()) {
      if (owner.waiting.length === 0 || owner.running >= owner.most) continue;
      const isBefore =
        next === undefined ||
        owner.running < next.running ||
        (owner.running === next.running && owner.last < next.last);
      if (isBefore) next = owner;
    }
    if (next === undefined) return;
    this.#give(next);
    next.waiting.shift()?.();
  }

  #forget(name: string, owner: Owner): void {
    if (owner.running === 0 && owner.waiting.length === 0) this.#owners.delete(name);
  }
}

/** A token bucket per owner: `burst` starts at once, then one each `intervalMs`. */
export class TokenBuckets {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #clock: WakingClock;
  /** When each bucket will be full again; the most recent start is the last. */
  readonly #full = new Map<string, number>();

  constructor(burst: number, perSecond: number, clock: WakingClock) {
    this.#intervalMs = 1_000 / perSecond;
    this.#burstMs = burst * this.#intervalMs;
    this.#clock = clock;
  }

  /**
   * A promise only if the start must wait; never longer than a whole burst takes to refill, even
   * after a jump of the clock or many starts that were aborted.
   * @param signal called only if it must wait; its reason is thrown
   */
  start(owner: string, signal: () => AbortSignal | undefined): Promise<void> | undefined {
    const now = this.#clock.now().getTime();
    for (const [idle, full] of this.#full) {
      if (full > now) break;
      this.#full.delete(idle);
    }
    const before = Math.max(now, this.#full.get(owner) ?? now);
    const full = Math.min(before + this.#intervalMs, now + 2 * this.#burstMs);
    this.#full.delete(owner);
    this.#full.set(owner, full);
    const wait = full - this.#burstMs - now;
    return wait > 0 ? this.#wait(new Date(now + Math.ceil(wait)), signal()) : undefined;
  }

  async #wait(until: Date, signal: AbortSignal | undefined): Promise<void> {
    await this.#clock.until(until, signal);
    signal?.throwIfAborted();
  }
}

/** By object, then by key; weak, so entries go with their object. */
const underWay = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Single-flight per object and key in this process: a call during another one waits for its result.
 * If that one fails, the call does `work` itself, because the cause may be gone by then.
 */
export async function singleFlight<T>(on: object, key: string, work: () => Promise<T>): Promise<T> {
  const own = underWay.get(on) ?? new Map<string, Promise<unknown>>();
  underWay.set(on, own);
  const other = own.get(key) as Promise<T> | undefined;
  if (other !== undefined) {
    try {
      return await other;
    } catch {
      return singleFlight(on, key, work);
    }
  }
  const doing = work();
  own.set(key, doing);
  try {
    return await doing;
  } finally {
    own.delete(key);
  }
}

/** The call of `singleFlight` that is under way. */
export function inFlight(on: object, key: string): Promise<unknown> | undefined {
  return underWay.get(on)?.get(key);
}

/** By object, then by key; weak, so entries go with their object. */
const turns = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * A mutex per object and key in this process: does `work` after all earlier calls have settled. A
 * failure affects only its own call.
 */
export async function oneAtATime<T>(on: object, key: string, work: () => Promise<T>): Promise<T> {
  const own = turns.get(on) ?? new Map<string, Promise<unknown>>();
  turns.set(on, own);
  const turn = (own.get(key) ?? Promise.resolve()).then(work, work);
  own.set(key, turn);
  try {
    return await turn;
  } finally {
    if (own.get(key) === turn) own.delete(key);
  }
}

/**
 * Opens at the first call; later calls share the result. A failure is not cached, so that a short
 * outage of the database, or a process that had no file descriptor left, recovers.
 */
export function onceOpen<T>(open: () => Promise<T>): () => Promise<T> {
  let opening: Promise<T> | undefined;
  return () => {
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
}

/** Aborts with the first of them. */
export function anySignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}

/** Settles with the work, or rejects with the signal's reason: for work that takes no signal. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const aborted = Promise.withResolvers<never>();
  const listener = addAbortListener(signal, () => aborted.reject(signal.reason));
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    listener[Symbol.dispose]();
  }
}
