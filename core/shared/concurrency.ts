export interface FairLimits {
  /** Under way at a time, of one owner. */
  readonly perOwner: number;
  /** Under way at a time, of all owners. */
  readonly total: number;
  /** Waiting at a time, of one owner. */
  readonly waiting: number;
}

/** A place that was given. */
export interface Place {
  /**
   * What follows is paced by the client: it still counts for its owner, but holds up no one else.
   */
  begun(): void;
  end(): void;
}

interface Owner {
  readonly most: number;
  running: number;
  /** Number of the last place it got; 0 for none. */
  last: number;
  readonly waiting: (() => void)[];
}

/**
 * Admits work in fair turns: a free place goes to the waiting owner who has the fewest, and among
 * equals to the one who got none for the longest time.
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
   * Undefined if as many of the owner wait already as may.
   * @param signal asked for only if it must wait
   * @param most instead of the limit per owner
   */
  async enter(
    name: string,
    signal: () => AbortSignal | undefined = () => undefined,
    most = this.#limits.perOwner,
  ): Promise<Place | undefined> {
    const owner = this.#owners.get(name) ?? { most, running: 0, last: 0, waiting: [] };
    this.#owners.set(name, owner);
    const isFree = this.#running < this.#limits.total && owner.running < owner.most;
    if (!isFree) {
      if (owner.waiting.length >= this.#limits.waiting) {
        this.#forget(name, owner);
        return undefined;
      }
      await this.#wait(name, owner, signal());
    } else this.#give(owner);
    let holds: 'both' | 'own' | 'nothing' = 'both';
    return {
      begun: () => {
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

/** By what they are done on; what nobody does any more is forgotten with its map. */
const underWay = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Does `work`, unless the same is being done in this process, on the same thing under the same key:
 * then it waits for that. Where that fails it does it after all, because what was begun earlier may
 * have failed for what has changed since.
 */
export async function joined<T>(on: object, key: string, work: () => Promise<T>): Promise<T> {
  const own = underWay.get(on) ?? new Map<string, Promise<unknown>>();
  underWay.set(on, own);
  const other = own.get(key) as Promise<T> | undefined;
  if (other !== undefined) {
    try {
      return await other;
    } catch {
      return joined(on, key, work);
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

/** By what they are done on; what nobody does any more is forgotten with its map. */
const turns = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Does `work` once all that was begun before it in this process, on the same thing under the same
 * key, is over; its outcome is nobody else's.
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
