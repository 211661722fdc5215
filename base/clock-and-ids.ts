/** The time, so that every rule can be tested at a pinned instant. */
export interface Clock {
  now(): Date;
}

export function later(clock: Clock, milliseconds: number): Date {
  return new Date(clock.now().getTime() + milliseconds);
}

/** A clock that can be waited for, so that a wait can be tested at a pinned instant as well. */
export interface WakingClock extends Clock {
  /**
   * Resolves once `now()` has reached `at`, or `signal` is aborted, whichever comes first; at once
   * if either has already happened. Where the clock is set back meanwhile, it takes as long as was
   * left when it began: check `now()`.
   */
  until(at: Date, signal?: AbortSignal): Promise<void>;
}

/** Fresh identifiers. */
export interface Ids {
  /** `run_` + ULID. */
  run(): string;
  /** 26 characters of lower-case base32 (128 random bits), as the sandbox bridge makes them. */
  sandbox(): string;
  /** `apr_` + ULID. */
  approval(): string;
  /** `pol_` + ULID. */
  policy(): string;
  /** `tool_` + ULID. */
  tool(): string;
  /** `ver_` + ULID. */
  toolVersion(): string;
  /** `trun_` + ULID. */
  toolRun(): string;
  /** `snap_` + ULID. */
  snapshot(): string;
  /** `dlg_` + ULID. */
  delegation(): string;
  /** `key_` + ULID: names an API key. */
  apiKeyId(): string;
  /** `porthole_` + 48 hexadecimal digits (192 random bits): the API key itself, a secret. */
  apiKey(): string;
  /** `ckp_` + ULID. */
  checkpoint(): string;
  /** `lnk_` + ULID. */
  link(): string;
  /** `whk_` + ULID. */
  webhook(): string;
  /** `msg_` + ULID. */
  message(): string;
  /** `look_` + ULID. */
  look(): string;
  /**
   * `session-` + milliseconds since 1970, as the sandbox bridge makes them, and some random
   * letters.
   */
  session(now: Date): string;
  /** An opaque id for one request, for the log and the `X-Request-Id` header. */
  request(): string;
}

/** An owner: a user within an org. */
export interface Owner {
  readonly user: string;
  readonly org: string;
}

export function sameOwner(one: Owner, other: Owner): boolean {
  return one.user === other.user && one.org === other.org;
}
