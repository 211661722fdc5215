/** What may be told of an error beside its words. */
export interface ErrorFacts {
  /** HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** The API's own code, e.g. `sandbox_not_found`; `unreachable` and `invalid_answer` are the client's. */
  readonly code: string;
  /** How long the API asks to be left alone, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Under which the operator finds the cause. */
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/** Refusals that may end by themselves, though their status says nothing of the kind. */
const MAY_END = new Set([
  'approval_timed_out',
  'no_bound_sandbox',
  'sandbox_not_running',
  'preview_conflict',
  'request_timeout',
  'snapshot_busy',
  'draft_locked',
]);
/** Failures that do not end by themselves. */
const STAYS = new Set(['session_error', 'unmount_error', 'invalid_answer']);

/** What Porthole refuses, or why it could not be asked. The message says what, the value and the remedy; it never holds a credential. */
export class PortholeError extends Error {
  readonly status: number;
  readonly code: string;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;

  constructor(message: string, { status, code, retryAfterMs, requestId, cause }: ErrorFacts) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PortholeError';
    this.status = status;
    this.code = code;
    this.retryable = isRetryable(status, code);
    this.retryAfterMs = retryAfterMs;
    this.requestId = requestId;
  }
}

/** Whether the same call may succeed later, by what was answered to it; status 0 is no answer. */
export function isRetryable(status: number, code: string): boolean {
  if (MAY_END.has(code)) return true;
  if (STAYS.has(code)) return false;
  return status === 0 || status === 429 || (status >= 500 && status !== 501);
}
