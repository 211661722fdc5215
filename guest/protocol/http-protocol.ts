/**
 * Grows when a host of an older version can no longer talk to the guest, or the other way round.
 */
export const PROTOCOL_VERSION = 1;

/** What the guest refuses, and with which status. */
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
 * Bytes of JSON that either side takes: 2 MiB of arguments and environment, which JSON may double.
 */
export const MAX_JSON = 4 * 1024 * 1024;

/** The value of `Upgrade` with which `GET /v1/dial/{port}` becomes a byte stream. */
export const DIAL_UPGRADE = 'tcp';

// Settings of the HTTP/2 session between host and relay (RFC 9113 §6.5.2, §6.9).

/**
 * Read ahead for one connection, in bytes: enough for a fast engine, little enough for a hundred of
 * them.
 */
const STREAM_WINDOW = 256 * 1024;

/** For all of them together. One that stands still must not stop the others. */
export const RELAY_WINDOW = 256 * 1024 * 1024;

export const RELAY_SETTINGS = {
  initialWindowSize: STREAM_WINDOW,
  maxConcurrentStreams: 4_096,
  enablePush: false,
};
