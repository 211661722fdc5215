/**
 * Every error of the API: code → HTTP status, whether retrying unchanged may help, and the remedy
 * of errors that give none themselves. The codes are part of the API; the OpenAPI document lists
 * them from here.
 */
export const ERROR_CATALOGUE = {
  invalid_request: { status: 400, retryable: false },
  invalid_run_id: { status: 400, retryable: false },
  invalid_port: { status: 400, retryable: false },
  port_out_of_range: { status: 400, retryable: false },
  image_not_supported: { status: 400, retryable: false },
  exec_error: { status: 400, retryable: false },
  unauthorized: {
    status: 401,
    retryable: false,
    // The same for every credential: a stranger learns nothing about the one that was sent.
    remedy:
      'Send a valid key or token as Authorization: Bearer. The token of an agent ends with its run: make a new run with POST /api/runs.',
  },
  forbidden: { status: 403, retryable: false },
  foreign_run: { status: 403, retryable: false },
  approval_denied: { status: 403, retryable: false, remedy: 'Ask the owner of the run what to do instead.' },
  approval_timed_out: { status: 403, retryable: true },
  origin_not_allowed: { status: 403, retryable: false },
  unknown_host: { status: 403, retryable: false },
  path_outside_workspace: { status: 403, retryable: false, shownAs: 'invalid_request' },
  not_found: { status: 404, retryable: false },
  run_not_found: { status: 404, retryable: false },
  sandbox_not_found: { status: 404, retryable: false },
  preview_not_found: { status: 404, retryable: false },
  approval_not_found: { status: 404, retryable: false },
  archive_not_found: { status: 404, retryable: false },
  checkpoint_not_found: { status: 404, retryable: false },
  policy_not_found: { status: 404, retryable: false },
  tool_not_found: { status: 404, retryable: false },
  tool_version_not_found: { status: 404, retryable: false },
  tool_run_not_found: { status: 404, retryable: false },
  skill_not_found: { status: 404, retryable: false },
  image_not_found: { status: 404, retryable: false },
  delegation_not_found: { status: 404, retryable: false },
  key_not_found: { status: 404, retryable: false },
  webhook_not_found: { status: 404, retryable: false },
  delivery_not_found: { status: 404, retryable: false },
  message_not_found: { status: 404, retryable: false },
  look_not_found: { status: 404, retryable: false },
  element_not_found: { status: 404, retryable: false },
  process_not_found: { status: 404, retryable: false },
  server_not_found: { status: 404, retryable: false },
  context_not_found: { status: 404, retryable: false },
  port_not_found: { status: 404, retryable: true },
  workspace_read_not_found: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  request_timeout: { status: 408, retryable: true },
  wait_timed_out: { status: 408, retryable: true },
  no_bound_sandbox: { status: 409, retryable: true },
  preview_not_enabled: { status: 409, retryable: false },
  run_ended: { status: 409, retryable: false, remedy: 'Make a new run with POST /api/runs.' },
  sandbox_not_running: {
    status: 409,
    retryable: true,
    remedy: 'Resume the sandbox with POST /v1/sandbox/{id}/resume.',
  },
  preview_conflict: { status: 409, retryable: true },
  sandbox_exists: { status: 409, retryable: false },
  approval_decided: { status: 409, retryable: false },
  draft_conflict: { status: 409, retryable: false },
  process_exited: { status: 409, retryable: false },
  server_exists: { status: 409, retryable: false },
  conflict: { status: 409, retryable: false },
  snapshot_mismatch: { status: 409, retryable: false },
  snapshot_busy: { status: 409, retryable: true },
  snapshot_expired: { status: 410, retryable: false },
  preview_expired: { status: 410, retryable: false },
  image_configured: { status: 409, retryable: false },
  delegation_not_renewable: { status: 409, retryable: false },
  webhook_disabled: { status: 409, retryable: false },
  file_exists: { status: 409, retryable: false },
  sandboxes_kept: { status: 409, retryable: false },
  payload_too_large: { status: 413, retryable: false },
  uri_too_long: { status: 414, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  invalid_schema: { status: 422, retryable: false },
  invalid_snapshot: { status: 422, retryable: false },
  invalid_inputs: { status: 422, retryable: false },
  snapshot_too_large: { status: 422, retryable: false },
  snapshot_required: { status: 422, retryable: false },
  unknown_action: { status: 422, retryable: false },
  draft_locked: { status: 423, retryable: true },
  too_many_requests: { status: 429, retryable: true },
  quota_exceeded: { status: 429, retryable: true },
  too_many_previews: { status: 429, retryable: true },
  too_many_approvals: { status: 429, retryable: true },
  too_many_terminals: { status: 429, retryable: true },
  too_many_processes: { status: 429, retryable: true },
  too_many_tool_runs: { status: 429, retryable: true },
  too_many_looks: { status: 429, retryable: true },
  too_many_messages: { status: 429, retryable: false },
  too_many_delegations: { status: 429, retryable: true },
  too_many_keys: { status: 429, retryable: false },
  too_many_webhooks: { status: 429, retryable: false },
  headers_too_large: { status: 431, retryable: false },
  internal_error: {
    status: 500,
    retryable: true,
    remedy: 'Try again. If it persists, give the request_id to your administrator.',
  },
  checkpoint_damaged: { status: 500, retryable: false },
  not_implemented: { status: 501, retryable: false },
  not_streamable: { status: 501, retryable: false },
  code_interpreter_missing: { status: 501, retryable: false },
  browser_missing: { status: 501, retryable: false },
  network_not_supported: { status: 501, retryable: false },
  checkpoints_not_supported: { status: 501, retryable: false },
  memory_not_supported: { status: 501, retryable: false },
  resources_not_supported: { status: 501, retryable: false },
  exec_transport_error: { status: 502, retryable: true },
  session_error: { status: 502, retryable: false },
  tunnel_error: { status: 502, retryable: true },
  workspace_archive_read_error: { status: 502, retryable: true },
  workspace_archive_write_error: { status: 502, retryable: true },
  archive_error: { status: 502, retryable: true },
  mount_error: { status: 502, retryable: true },
  unmount_error: { status: 502, retryable: false },
  browser_failed: { status: 502, retryable: true },
  nothing_listens: { status: 502, retryable: true },
  service_unavailable: { status: 503, retryable: true },
  capacity_exceeded: { status: 503, retryable: true },
  disk_full: { status: 507, retryable: true },
} as const;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

/** More fields of an error's answer, by their names there. */
export type ErrorDetails = Readonly<
  Record<string, string | number | readonly string[] | Readonly<Record<string, string | number | null>>>
>;

/**
 * The one error class of Porthole. `message` says what is wrong, the offending value and the
 * remedy, which is a field of the response, too. Callers see both, so they never hold a token, a
 * key or a host path. Whatever led here goes into `cause`, for the log.
 */
export class PortholeError extends Error {
  readonly code: ErrorCode;
  /** Machine-readable details: more fields of the response. */
  readonly details: ErrorDetails;

  readonly #remedy: string | undefined;

  /** When a retry may succeed, if known. */
  readonly retryAfterSeconds: number | undefined;

  /** Whether retrying unchanged may help. */
  readonly retryable: boolean;

  /**
   * @param remedy ends the message, after a colon or the period of `what`
   * @param retryable @default as the catalogue has the code
   */
  constructor(
    code: ErrorCode,
    what: string,
    options?: {
      cause?: unknown;
      details?: ErrorDetails;
      remedy?: string;
      retryable?: boolean;
      retryAfterSeconds?: number;
    },
  ) {
    const remedy = options?.remedy;
    super(remedy === undefined ? what : `${what}${what.endsWith('.') ? '' : ':'} ${remedy}`, options);
    this.name = 'PortholeError';
    this.code = code;
    this.details = options?.details ?? {};
    this.retryAfterSeconds = options?.retryAfterSeconds;
    this.#remedy = remedy;
    this.retryable = options?.retryable ?? ERROR_CATALOGUE[code].retryable;
  }

  get status(): number {
    return ERROR_CATALOGUE[this.code].status;
  }

  /** The code that callers see: the bridge has one code for several of ours. */
  get shownCode(): ErrorCode {
    const entry = ERROR_CATALOGUE[this.code];
    return 'shownAs' in entry ? entry.shownAs : this.code;
  }

  /** What to do next, as a sentence. */
  get remedy(): string | undefined {
    const entry = ERROR_CATALOGUE[this.code];
    const remedy = this.#remedy ?? ('remedy' in entry ? entry.remedy : undefined);
    if (remedy === undefined) return undefined;
    return `${remedy.slice(0, 1).toUpperCase()}${remedy.slice(1)}${/[.?!]$/.test(remedy) ? '' : '.'}`;
  }
}
