import type { NetworkRefusal, PresetRule } from './network-policy.ts';
import type { NetworkMode } from '#protocol/settings/shared-values.ts';
import type { SandboxAuthority } from './network-secrets.ts';

/** A connection attempt of a sandbox. */
export interface NetworkAttempt {
  readonly host: string;
  readonly port: number;
  /** `failed`: allowed, but the host does not answer. */
  readonly decision: 'allowed' | 'blocked' | 'failed';
  /** The rule that decided, or the reason of the failure. */
  readonly rule: string;
  readonly refusal?: NetworkRefusal | undefined;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly ms: number;
}

export type BlockedHost = Pick<NetworkAttempt, 'host' | 'port' | 'rule' | 'refusal'>;

/** A question to the owner of a sandbox about a destination. */
export interface NetworkQuestion {
  readonly sandboxId: string;
  readonly host: string;
  readonly port: number;
  /** Source port of the program's connection, inside the sandbox. */
  readonly clientPort: number | undefined;
}

/** Network options of an installation. */
export interface NetworkOptions {
  /** The mode of a sandbox that requests none. */
  readonly default: NetworkMode;
  /** The widest mode that a sandbox may request, or its owner may allow. */
  readonly widest: NetworkMode;
}

/** Network access of sandboxes. */
export interface NetworkAccess extends NetworkOptions {
  /** Whether a broker makes their connections. Otherwise their network is only on or off. */
  isBrokered(): Promise<boolean>;
  /** The rules of `packages`. */
  readonly presets: readonly PresetRule[];
  createAuthority(): Promise<SandboxAuthority>;
  /** Call it after the secrets in the records have changed: the sandbox gets its authority. */
  secretsChanged(sandboxId: string): Promise<void>;
  /** Call it after the policy in the records has changed: connections it does not allow end. */
  policyChanged(sandboxId: string): Promise<void>;
  /** Destinations blocked since then, each host and port once. Kept for a limited time. */
  blockedSince(sandboxId: string, since: Date): Promise<readonly BlockedHost[]>;
  /** How an owner can allow the destination, or why nothing does. */
  hint(sandboxId: string, blocked: BlockedHost): string;
  /** Resolves once every attempt so far is among the sandbox's events. */
  settled(): Promise<void>;
}
