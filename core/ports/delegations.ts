import type { Grant } from '../rules/grant.ts';
import type { SandboxRecord } from './sandbox-records.ts';

/** Which sandbox, and which of those that had its id. */
export type SandboxKey = Pick<SandboxRecord, 'id' | 'generation'>;

/** A part of a sandbox that its owner has lent to somebody, for a while. */
export interface DelegationRecord {
  readonly id: string;
  readonly sandbox: SandboxKey;
  readonly grant: Grant;
  /** Whom it is for, in the owner's words. */
  readonly label: string | null;
  readonly renewable: boolean;
  /** Milliseconds that it lasts, and that each renewal adds from then on. */
  readonly ttl: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** What of a sandbox is lent to whom, and which of its own tokens is good. A revoked delegation is none. */
export interface DelegationRecords {
  /** False, and nothing changed, where `most` of the sandbox live at its `createdAt`. */
  create(delegation: DelegationRecord, most: number): Promise<boolean>;
  /** Also one that has expired, for as long as nobody has forgotten it. */
  get(id: string): Promise<DelegationRecord | undefined>;
  /** Those that live at `now`, oldest first. */
  list(sandbox: SandboxKey, now: Date): Promise<readonly DelegationRecord[]>;
  /** Makes one that lives at `at` last for its `ttl` from then, and never shorter than it would have; returns it as it then stands. Undefined where none lives, or it is not renewable. */
  renew(id: string, sandbox: SandboxKey, at: Date): Promise<DelegationRecord | undefined>;
  /** Ends it at once, for every instance: no `get` and no `renew` that begins afterwards finds it. False where there is none. */
  revoke(id: string, sandbox: SandboxKey): Promise<boolean>;
  /** Forgets those that expired before; says how many. */
  forget(before: Date): Promise<number>;
  /** Which of the sandbox's own tokens is good: 0 before any rotation. */
  tokenVersion(sandbox: SandboxKey): Promise<number>;
  /** Makes the next one the only good one; returns its number. */
  rotateToken(sandbox: SandboxKey): Promise<number>;
  /**
   * Calls `wake` after each change of what is lent of the sandbox, by whichever instance, and whenever changes may have been missed. It may come without one, and it may be late. Returns what
   * ends it.
   */
  watch(sandboxId: string, wake: () => void): () => void;
}
