/** Incremented when hosts and guests of different versions can no longer talk to each other. */
export const PROTOCOL_VERSION = 1;

/** Error codes of the guest, with their statuses. */
export const GUEST_ERRORS = {
  invalid_request: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  timed_out: 408,
  conflict: 409,
  process_exited: 409,
  payload_too_large: 413,
  internal_error: 500,
  nothing_listens: 502,
  too_many: 503,
} as const;

export type GuestErrorCode = keyof typeof GUEST_ERRORS;

/**
 * Maximum bytes of JSON for both sides: 2 MiB of arguments and environment, which JSON may double.
 */
export const MAX_JSON = 4 * 1024 * 1024;

/** The `Upgrade` value that turns `GET /v1/dial/{port}` into a byte stream. */
export const DIAL_UPGRADE = 'tcp';

// Settings of the HTTP/2 session between host and relay (RFC 9113 §6.5.2, §6.9).

/**
 * Receive window of one connection, in bytes: enough for a fast engine, small enough for a hundred
 * connections.
 */
const STREAM_WINDOW = 256 * 1024;

/** Receive window of all connections together. A stalled connection must not block the others. */
export const RELAY_WINDOW = 256 * 1024 * 1024;

export const RELAY_SETTINGS = {
  initialWindowSize: STREAM_WINDOW,
  maxConcurrentStreams: 4_096,
  enablePush: false,
};
