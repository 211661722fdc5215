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

/** First segments after the version of the paths of files. */
export const FILE_AREAS = [
  'files',
  'stat',
  'list',
  'search',
  'mkdir',
  'move',
  'watch',
  'watches',
  'upload',
  'tar',
  'tree',
  'skills',
] as const;

/**
 * Maximum bytes of JSON for both sides: 2 MiB of arguments and environment, which JSON may double.
 */
export const MAX_JSON = 4 * 1024 * 1024;

/** The `Upgrade` value that turns `GET /v1/dial/{port}` into a byte stream. */
export const DIAL_UPGRADE = 'tcp';

// Options of the HTTP/2 session between host and relay (RFC 9113 §6.5.2, §6.9).

/**
 * Receive window of one connection, in bytes: enough for a fast engine, small enough for a hundred
 * connections.
 */
const STREAM_WINDOW = 256 * 1024;

/** Receive window of all connections together. A stalled connection must not block the others. */
export const RELAY_WINDOW = 256 * 1024 * 1024;

/** Raises limits of Node that would end the session, and with it all connections to a sandbox. */
export const RELAY_SESSION = {
  settings: { initialWindowSize: STREAM_WINDOW, maxConcurrentStreams: 4_096, enablePush: false },
  // In MB. Node goes on counting some bytes of streams that were reset, and refuses new streams
  // above the limit, 10 MB by default. The windows bound what really waits.
  maxSessionMemory: 1_000_000,
  // The host sends one RST_STREAM for each connection that it closes. By default a server ends the
  // session above 1,000 of them, and 33 more per second (CVE-2023-44487).
  streamResetBurst: 1_000_000_000,
  streamResetRate: 1_000_000_000,
};

/** Bytes of an output that are kept: its beginning, and its end, which has the errors. */
export const OUTPUT_KEPT = { first: 16 * 1024, last: 32 * 1024 } as const;
