import type { AuditHead } from '../audit/audit-event.ts';
import type { Caller } from '../callers.ts';
import type { TicketKind, VisitTicket } from '#protocol/guest/visit-tickets.ts';
import type { SandboxKey } from '../sandboxes/sandbox-records.ts';
import type { Sessions } from './sign-in.ts';

/** Resolves a credential to its caller. */
export interface Authenticator {
  /** Caller of requests without a credential: `local` until auth is configured, else undefined. */
  readonly withoutCredential: Caller | undefined;
  /**
   * The caller, or undefined if the credential is not valid. Never falls back to another caller.
   * @throws PortholeError `service_unavailable` when the credential cannot be checked
   */
  authenticate(credential: string): Promise<Caller | undefined>;
  /** Browser sessions; absent: people cannot sign in with a browser. */
  readonly sessions?: Sessions | undefined;
}

/** The claims of a run's agent token, after its signature and expiry have been checked. */
export interface AgentClaims {
  readonly runId: string;
  readonly expiresAt: Date;
  /** As `RunRecord.tokenVersion`. Tokens inside sandboxes have no version. @default 0 */
  readonly version?: number | undefined;
  /**
   * Valid only for callbacks from sandboxes. Every command in the sandbox can read the token, so it
   * must grant nothing elsewhere.
   */
  readonly inside: boolean;
}

/**
 * Claims of a credential for one sandbox: of a delegation, or of the sandbox's own token by its
 * version. The records define its expiry and its grant.
 */
export interface SandboxClaims {
  readonly sandboxId: string;
  readonly generation: number;
  readonly by:
    | { readonly delegationId: string; readonly version?: undefined }
    | { readonly version: number; readonly delegationId?: undefined };
}

/**
 * Mints and verifies credentials. Every key has an id (`kid`), so keys can be rotated without
 * changing the URL of a running preview.
 */
export interface Tokens {
  /** The id of the key that new runs pin. */
  currentKid(): string;
  /**
   * The preview token of a run's port: equal for equal arguments, on every instance.
   * @throws PortholeError `internal_error` when the key `kid` has been removed from the key set
   */
  preview(kid: string, runId: string, targetPort: number, generation: number): string;
  /** A signed ticket of one visitor of one preview. */
  signTicket(kind: TicketKind, ticket: VisitTicket): string;
  /** The public keys that verify tickets, the current one first. */
  readonly ticketKeys: readonly string[];
  /** The JWT of a head of the audit. */
  signAuditHead(head: Omit<AuditHead, 'token'>): string;
  /** The public keys that verify it, the current one first. */
  readonly auditKeys: readonly string[];
  /** A pseudonym of a visitor without a name, different for each preview. */
  pseudonym(preview: string, visitor: string): string;
  /** The secret of a link that is made for an approval: equal for every call that waits for it. */
  linkSecret(linkId: string): string;
  /** The secret of programs that call the ports of a sandbox: equal as long as it exists. */
  traffic(sandbox: SandboxKey): string;
  /** A signed token for the agent of one run. */
  signAgent(claims: AgentClaims): Promise<string>;
  /** The claims of a well-signed, unexpired agent token; otherwise undefined. */
  verifyAgent(token: string, now: Date): AgentClaims | undefined | Promise<AgentClaims | undefined>;
  /** A signed credential for one sandbox: deterministic for the same claims and key. */
  signSandbox(claims: SandboxClaims): Promise<string>;
  /** The claims of a well-signed credential for a sandbox; otherwise undefined. */
  verifySandbox(token: string): SandboxClaims | undefined | Promise<SandboxClaims | undefined>;
}
