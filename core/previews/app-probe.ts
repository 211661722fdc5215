import type { Duplex } from 'node:stream';

/** What a server in a sandbox said to one plain request. */
export type HttpFinding =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Lower-case names; of several values the first. */
      readonly headers: ReadonlyMap<string, string>;
      /** As much of the body's beginning as came, at most 64 KiB, as Latin-1. */
      readonly body: string;
    }
  /** Took the connection and did not say a whole head in time. */
  | { readonly kind: 'silent' }
  /** Took the connection and ended it without an answer. */
  | { readonly kind: 'hung_up' }
  /** Speaks TLS, where plain HTTP is expected. */
  | { readonly kind: 'tls' }
  /**
   * Said something that is no HTTP answer, or a broken one: what is wrong with it, in one of our
   * own phrases.
   */
  | { readonly kind: 'malformed'; readonly what: string };

export interface UpgradeFinding {
  /** Whether it answered 101, and rightly. */
  readonly upgrades: boolean;
  /** The status it answered instead of 101. */
  readonly status?: number | undefined;
}

/**
 * Where a WebSocket is tried: most apps have theirs at one path, and some ask for a subprotocol.
 */
export interface UpgradeTarget {
  readonly path: string;
  readonly protocol?: string | undefined;
}

/**
 * Asks a server in a sandbox one question over a stream of `SandboxProvider.dial`, and ends the
 * stream. Everything it hears is hostile: bounded in bytes, headers and time. No method rejects
 * because of what the server does; each does when `signal` aborts.
 */
export interface AppProbe {
  /** `GET /`, as a browser would through a preview: the Host is `localhost:{port}`. */
  get(stream: Duplex, port: number, signal?: AbortSignal): Promise<HttpFinding>;
  /**
   * Whether the server answers a TLS ClientHello with TLS; many TLS servers hang up on plain HTTP
   * without a word.
   */
  speaksTls(stream: Duplex, signal?: AbortSignal): Promise<boolean>;
  /** The handshake of a WebSocket (RFC 6455). */
  upgrade(stream: Duplex, port: number, target: UpgradeTarget, signal?: AbortSignal): Promise<UpgradeFinding>;
}
