import type { NetworkMode } from './network-policy.ts';

/** A connection that a sandbox has made or tried. */
export interface NetworkAttempt {
  readonly host: string;
  readonly port: number;
  /** `failed`: it was allowed, and the host does not answer. */
  readonly decision: 'allowed' | 'blocked' | 'failed';
  /** What decided, or why it failed. */
  readonly rule: string;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly ms: number;
}

export type BlockedHost = Pick<NetworkAttempt, 'host' | 'port' | 'rule'>;

/** What the owner of a sandbox is asked. */
export interface NetworkQuestion {
  readonly sandboxId: string;
  readonly host: string;
  readonly port: number;
  /** From which the program connects, inside. */
  readonly clientPort: number | undefined;
}

/** What an installation gives its sandboxes. */
export interface NetworkOptions {
  /** Of a sandbox that asks for nothing. */
  readonly default: NetworkMode;
  /** The most that one may ask for, or its owner may allow. */
  readonly widest: NetworkMode;
}

/** The way of sandboxes to the network. */
export interface NetworkAccess extends NetworkOptions {
  /**
   * Whether this host makes their connections. Where it does not, their network is only on or off.
   */
  isBrokered(): Promise<boolean>;
  /** The policy in the records is another: connections that it does not allow end. */
  policyChanged(sandboxId: string): Promise<void>;
  /** What was blocked since then, each host and port once. Kept for a while. */
  blockedSince(sandboxId: string, since: Date): readonly BlockedHost[];
  /** How an owner allows it, in a sentence. */
  hint(sandboxId: string, blocked: BlockedHost): string;
  /** Once every attempt so far is among the sandbox's events. */
  settled(): Promise<void>;
}
