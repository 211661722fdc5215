import type { Person, SessionRef } from '../callers.ts';

/**
 * Browser sessions that were ended before their expiry. A sealed session would stay valid until it
 * expires.
 */
export interface EndedSessionRecords {
  /**
   * Ends the session at once on every instance: each `has` that begins afterwards is true.
   * Idempotent. @param until when the session would have expired
   */
  add(id: string, until: Date): Promise<void>;
  has(id: string): Promise<boolean>;
  /** Deletes the records of sessions that have expired before; returns how many. */
  forget(before: Date): Promise<number>;
}

/** A session as the browser stores it: sealed, so that it cannot be read or changed. */
export interface SealedSession {
  readonly sealed: string;
  readonly expiresAt: Date;
}

/** A sign-in at the identity provider that has begun. */
interface BegunSignIn extends SealedSession {
  /** The URL to send the person to. */
  readonly url: string;
}

/**
 * Why a sign-in at the identity provider did not create a session. `denied`: the provider or the
 * person refused. `expired`: it began too long ago, or in another browser. `mismatch`: the answer
 * belongs to another sign-in. `wrong_issuer`: another issuer answered. `not_vouched`: the provider
 * rejects its code, or its token is not valid. `provider_error`: the provider reports an error.
 * `unavailable`: the provider cannot be reached.
 */
export type SignInProblem =
  | 'denied'
  | 'expired'
  | 'mismatch'
  | 'wrong_issuer'
  | 'not_vouched'
  | 'provider_error'
  | 'unavailable';

/** How a sign-in at the identity provider ended, and the path that the person requested. */
export type EndedSignIn = { readonly returnTo: string } & (
  | { readonly session: SealedSession; readonly problem?: undefined }
  | { readonly session?: undefined; readonly problem: SignInProblem }
);

/** The parameters with which the identity provider redirected the person back. */
export interface SignInAnswer {
  readonly code?: string | undefined;
  readonly state?: string | undefined;
  readonly error?: string | undefined;
  /** The issuer (RFC 9207), if the provider sends it. */
  readonly iss?: string | undefined;
}

/**
 * Browser sessions. Only ended sessions are stored: any instance can verify a session that another
 * one sealed.
 */
export interface Sessions {
  /** The available sign-in methods. */
  readonly methods: readonly ('key' | 'oidc')[];
  /** A session for the owner of the API key; undefined if the key is not valid. */
  withKey(key: string): Promise<SealedSession | undefined>;
  /**
   * @param callback the URL to which the provider redirects the person
   * @param returnTo the path to go to afterwards, which `isLocalPath`
   * @throws PortholeError `not_found` without a provider; `service_unavailable` when it cannot be
   * reached
   */
  beginOidc(callback: string, returnTo: string): Promise<BegunSignIn>;
  /** @param begun the sealed state from `beginOidc`, if the browser still has it */
  endOidc(begun: string | undefined, answer: SignInAnswer): Promise<EndedSignIn>;
  /**
   * The current person of the session. Removing an API key ends its sessions, and so does signing
   * out.
   */
  authenticate(sealed: string): Promise<Person | undefined>;
  /** Whether the session is neither ended nor expired. */
  lasts(session: SessionRef): Promise<boolean>;
  /**
   * Signs out on every instance, also for copies of the sealed session. Ignores an invalid session.
   */
  end(sealed: string): Promise<void>;
}
