import type { Person } from '../callers.ts';

/** A session as a browser keeps it: sealed, so that it holds nothing that anybody could read or change. */
export interface SealedSession {
  readonly sealed: string;
  readonly expiresAt: Date;
}

/** A sign-in at the identity provider that has begun. */
export interface BegunSignIn extends SealedSession {
  /** Where the person goes. */
  readonly url: string;
}

/** Sessions of people in browsers. Nothing is kept here: any instance judges what any other has sealed. */
export interface Sessions {
  /** How people can sign in. */
  readonly methods: readonly ('key' | 'oidc')[];
  /** A session for the owner of the API key; undefined when it is not good. */
  withKey(key: string): Promise<SealedSession | undefined>;
  /**
   * @param callback where the provider sends the person back to
   * @throws PortholeError `not_found` without a provider; `service_unavailable` when it cannot be asked
   */
  beginOidc(callback: string): Promise<BegunSignIn>;
  /**
   * What came back. Undefined when it does not belong to the sealed beginning, or the provider does not vouch for it.
   * @throws PortholeError `service_unavailable` when the provider cannot be asked
   */
  endOidc(
    begun: string,
    came: { readonly code: string; readonly state: string },
  ): Promise<SealedSession | undefined>;
  /** Whose session it is, as of now: an API key that has been taken away ends its sessions. */
  judge(sealed: string): Promise<Person | undefined>;
}
