import type { Duplex } from 'node:stream';

/** A server's answer to one plain HTTP request. */
export type HttpFinding =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Lower-case names; the first of several values. */
      readonly headers: ReadonlyMap<string, string>;
      /** The beginning of the body, at most 64 KiB, as Latin-1. */
      readonly body: string;
    }
  /** Accepted the connection and sent no complete response head in time. */
  | { readonly kind: 'silent' }
  /** Accepted the connection and closed it without an answer. */
  | { readonly kind: 'hung_up' }
  /** Speaks TLS where plain HTTP is expected. */
  | { readonly kind: 'tls' }
  /** Sent an invalid HTTP answer: a fixed phrase says what is wrong. */
  | { readonly kind: 'malformed'; readonly what: string };

export interface UpgradeFinding {
  /** Whether it sent a valid 101 answer. */
  readonly upgrades: boolean;
  /** The status of another answer than 101. */
  readonly status?: number | undefined;
}

/** Target of the WebSocket test: the app's path, and a subprotocol if the app requires one. */
export interface UpgradeTarget {
  readonly path: string;
  readonly protocol?: string | undefined;
}

/**
 * Sends one request to a server in a sandbox over a stream of `Sandboxes.dial`, and ends the
 * stream. Answers are hostile: bounded in bytes, headers and time. No method rejects because of
 * what the server does; each rejects when `signal` aborts.
 */
export interface AppProbe {
  /** `GET /`, as from a browser through a preview: the Host is `localhost:{port}`. */
  get(stream: Duplex, port: number, signal?: AbortSignal): Promise<HttpFinding>;
  /**
   * Whether the server answers a TLS ClientHello with TLS; many TLS servers close plain HTTP
   * connections without an answer.
   */
  speaksTls(stream: Duplex, signal?: AbortSignal): Promise<boolean>;
  /** A WebSocket handshake (RFC 6455). */
  upgrade(stream: Duplex, port: number, target: UpgradeTarget, signal?: AbortSignal): Promise<UpgradeFinding>;
}
