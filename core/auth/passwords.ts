import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Clock, Owner } from '#base/clock-and-ids.ts';
import { FairQueue } from '#base/concurrency.ts';
import { PortholeError } from '#base/errors.ts';
import { GuessLimit } from './guess-limit.ts';

const scryptAsync = promisify<string, Buffer, number, Buffer>(scrypt);
const KEY_BYTES = 32;
/** Passwords to remember, right and wrong ones. */
const MAX_KNOWN = 10_000;
/** How many times the limit of one guesser all visitors without a name may guess together. */
const ALL_ANONYMOUS = 10;
/** Computations at a time: each blocks one of the four threads that also read files. */
const COMPUTATIONS = { perOwner: 1, total: 2, waiting: 4 };

/** `{salt}.{scrypt}`, base64url; Node's cost: 16 MiB and some 50 ms. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await scryptAsync(password, salt, KEY_BYTES);
  return `${salt.toString('base64url')}.${key.toString('base64url')}`;
}

async function isPassword(password: string, stored: string): Promise<boolean> {
  const [salt = '', key = ''] = stored.split('.');
  const expected = Buffer.from(key, 'base64url');
  return timingSafeEqual(await scryptAsync(password, Buffer.from(salt, 'base64url'), KEY_BYTES), expected);
}

/** Of no password. */
const DECOY = `.${Buffer.alloc(KEY_BYTES).toString('base64url')}`;

/** Who tries a password, and where. */
export interface Guess {
  /** Name of the preview that is asked for, which may not exist. */
  readonly preview: string;
  readonly person: Owner | undefined;
  readonly address: string | undefined;
}

/**
 * Checks the passwords of previews and links. Guesses at one password delay no one who tries
 * another: each has its own counters. A person's own guesses count, not those of others at the same
 * address. What was tried before is not computed again, and a right password then passes at once.
 */
export class Passwords {
  readonly #each: GuessLimit;
  readonly #anonymous: GuessLimit;
  readonly #queue = new FairQueue(COMPUTATIONS);
  /** Whether a password was right, by the digest of the hash and it. */
  readonly #known = { right: remembered(), wrong: remembered() };

  constructor(perMinute: number, clock: Clock) {
    this.#each = new GuessLimit(perMinute, clock);
    this.#anonymous = new GuessLimit(perMinute * ALL_ANONYMOUS, clock);
  }

  /**
   * False without a hash, after the same time as for a wrong password.
   * @throws PortholeError `too_many_requests`
   */
  async check(
    password: string,
    hashed: string | null,
    { preview, person, address }: Guess,
  ): Promise<boolean> {
    const stored = hashed === null || hashed === '' ? DECOY : hashed;
    const scope = `${preview} ${stored}`;
    const digest = hash('sha256', `${scope} ${password}`, 'base64');
    const guesser = `${scope} ${person === undefined ? (address ?? '') : JSON.stringify([person.org, person.user])}`;
    const known = this.#isKnown(digest);
    if (known !== undefined) return known;
    const seconds = Math.max(
      this.#each.blockedFor(guesser, password),
      person === undefined ? this.#anonymous.blockedFor(scope, password) : 0,
    );
    if (seconds > 0) throw tooMany(seconds);
    const place = await this.#queue.enter(guesser);
    if (place === undefined) throw tooMany(1);
    try {
      // Another request may have tried it meanwhile.
      const isRight = this.#isKnown(digest) ?? (await isPassword(password, stored));
      this.#known[isRight ? 'right' : 'wrong'].set(digest, true);
      if (!isRight) {
        this.#each.wrong(guesser, password);
        if (person === undefined) this.#anonymous.wrong(scope, password);
      }
      return isRight;
    } finally {
      place.end();
    }
  }

  #isKnown(digest: string): boolean | undefined {
    if (this.#known.right.get(digest) === true) return true;
    return this.#known.wrong.get(digest) === true ? false : undefined;
  }
}

/** Apart: wrong ones, of which a stranger sends any number, do not displace right ones. */
function remembered(): LRUCache<string, true> {
  return new LRUCache<string, true>({ max: MAX_KNOWN });
}

function tooMany(seconds: number): PortholeError {
  return new PortholeError('too_many_requests', 'Too many wrong passwords were tried', {
    remedy: `try again in ${seconds} seconds.`,
    retryAfterSeconds: seconds,
  });
}
