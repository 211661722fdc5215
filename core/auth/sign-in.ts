import type { Person, SessionRef } from '../callers.ts';

/**
 * Which sessions of browsers somebody has ended before their time. What a browser keeps is sealed,
 * and would be good until then all the same.
 */
export interface EndedSessionRecords {
  /**
   * Ends it at once, for every instance: each `has` that begins afterwards is true. A second time
   * changes nothing. @param until when it would have been over by itself
   */
  add(id: string, until: Date): Promise<void>;
  has(id: string): Promise<boolean>;
  /** Forgets those that would have been over before; says how many. */
  forget(before: Date): Promise<number>;
}

/**
 * A session as a browser keeps it: sealed, so that it holds nothing that anybody could read or
 * change.
 */
export interface SealedSession {
  readonly sealed: string;
  readonly expiresAt: Date;
}

/** A sign-in at the identity provider that has begun. */
interface BegunSignIn extends SealedSession {
  /** Where the person goes. */
  readonly url: string;
}

/**
 * Why a sign-in at the identity provider did not end with a session. `denied`: the provider, or the
 * person there, said no. `expired`: it was begun too long ago, or in another browser. `mismatch`:
 * the answer is that to another sign-in. `wrong_issuer`: somebody else answered. `not_vouched`: the
 * provider takes back its code, or its token is not good here. `provider_error`: it reports an
 * error of its own. `unavailable`: it cannot be asked right now.
 */
export type SignInProblem =
  | 'denied'
  | 'expired'
  | 'mismatch'
  | 'wrong_issuer'
  | 'not_vouched'
  | 'provider_error'
  | 'unavailable';

/** How a sign-in at the identity provider ended, and the path that the person had asked for. */
export type EndedSignIn = { readonly returnTo: string } & (
  | { readonly session: SealedSession; readonly problem?: undefined }
  | { readonly session?: undefined; readonly problem: SignInProblem }
);

/** What the identity provider sent the person back with. */
export interface SignInAnswer {
  readonly code?: string | undefined;
  readonly state?: string | undefined;
  readonly error?: string | undefined;
  /** Who answers (RFC 9207), where the provider says so. */
  readonly iss?: string | undefined;
}

/**
 * Sessions of people in browsers. Only those that were ended are kept here: any instance judges
 * what any other has sealed.
 */
export interface Sessions {
  /** How people can sign in. */
  readonly methods: readonly ('key' | 'oidc')[];
  /** A session for the owner of the API key; undefined when it is not good. */
  withKey(key: string): Promise<SealedSession | undefined>;
  /**
   * @param callback where the provider sends the person back to
   * @param returnTo the path to go to afterwards, which `isLocalPath`
   * @throws PortholeError `not_found` without a provider; `service_unavailable` when it cannot be
   * asked
   */
  beginOidc(callback: string, returnTo: string): Promise<BegunSignIn>;
  /** @param begun what `beginOidc` has sealed, where the browser still has it */
  endOidc(begun: string | undefined, answer: SignInAnswer): Promise<EndedSignIn>;
  /**
   * Whose session it is, as of now: an API key that has been taken away ends its sessions, and so
   * does whoever signs out.
   */
  authenticate(sealed: string): Promise<Person | undefined>;
  /** Whether the session goes on, as far as its store and its time go. */
  lasts(session: SessionRef): Promise<boolean>;
  /**
   * Signs out, on every instance, wherever the sealed session may have got to. What is no session
   * is none afterwards, either.
   */
  end(sealed: string): Promise<void>;
}
