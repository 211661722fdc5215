import type { Caller } from '../callers.ts';
import type { Sessions } from './sign-in.ts';

/** Who stands behind a credential. */
export interface Authenticator {
  /**
   * The one who calls without a credential: `local` while nothing is configured, otherwise nobody.
   */
  readonly withoutCredential: Caller | undefined;
  /**
   * The owner of the credential, or undefined when it is not good. Never falls back to anybody.
   * @throws PortholeError `service_unavailable` when whoever could judge it cannot be asked
   */
  authenticate(credential: string): Promise<Caller | undefined>;
  /** Of people who signed in with a browser; absent: nobody can. */
  readonly sessions?: Sessions | undefined;
}

/** What a run's agent token says once its signature and its expiry have been checked. */
export interface AgentClaims {
  readonly runId: string;
  readonly expiresAt: Date;
  /** As `RunRecord.tokenVersion`. Tokens inside sandboxes have no version. @default 0 */
  readonly version?: number | undefined;
  /**
   * Good only where sandboxes call back: it lies in one, where whoever runs a command can read it,
   * and must be worth nothing to them elsewhere.
   */
  readonly inside: boolean;
}

/**
 * What a credential for one sandbox says: of a delegation, or the sandbox's own token by its
 * number. Until when it is good, and for what, the records say.
 */
export interface SandboxClaims {
  readonly sandboxId: string;
  readonly generation: number;
  readonly by:
    | { readonly delegationId: string; readonly version?: undefined }
    | { readonly version: number; readonly delegationId?: undefined };
}

/**
 * The capabilities that Porthole mints. Every key has an id (`kid`), so that keys can be rotated
 * without changing the URL of a running preview.
 */
export interface Tokens {
  /** The id of the key that new runs pin. */
  currentKid(): string;
  /**
   * The preview token of a run's port: the same for the same arguments, on every instance.
   * @throws PortholeError `internal_error` when the key `kid` has been removed from the key set
   */
  preview(kid: string, runId: string, targetPort: number, generation: number): string;
  /** A signed token for the agent of one run. */
  signAgent(claims: AgentClaims): Promise<string>;
  /** The claims of a well-signed, unexpired agent token; otherwise undefined. */
  verifyAgent(token: string, now: Date): Promise<AgentClaims | undefined>;
  /**
   * A signed credential for one sandbox: the same text for the same claims, while the key stays.
   */
  signSandbox(claims: SandboxClaims): Promise<string>;
  /** The claims of a well-signed credential for a sandbox; otherwise undefined. */
  verifySandbox(token: string): Promise<SandboxClaims | undefined>;
}
