import type { Caller } from '../callers.ts';
import type { Sessions } from './sessions.ts';

/** Who stands behind a credential. */
export interface Authenticator {
  /** The one who calls without a credential: `local` while nothing is configured, otherwise nobody. */
  readonly withoutCredential: Caller | undefined;
  /**
   * The owner of the credential, or undefined when it is not good. Never falls back to anybody.
   * @throws PortholeError `service_unavailable` when whoever could judge it cannot be asked
   */
  authenticate(credential: string): Promise<Caller | undefined>;
  /** Of people who signed in with a browser; absent: nobody can. */
  readonly sessions?: Sessions | undefined;
}
