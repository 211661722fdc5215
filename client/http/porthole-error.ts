/** Details of an error besides its message. */
export interface ErrorFacts {
  /** HTTP status; 0 where there was no answer. */
  readonly status: number;
  /**
   * The API's own code, e.g. `sandbox_not_found`; `unreachable` and `invalid_answer` are the
   * client's.
   */
  readonly code: string;
  /**
   * Whether the same call may succeed later.
   * @default by status: no answer, 429 and 5xx other than 501
   */
  readonly retryable?: boolean | undefined;
  /** How long the API asks to be left alone, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Under which the operator finds the cause. */
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/**
 * What Porthole refuses, or why it could not be asked. The message says what, the value and the
 * remedy; it never holds a credential.
 */
export class PortholeError extends Error {
  readonly status: number;
  readonly code: string;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;

  constructor(message: string, facts: ErrorFacts) {
    const { status, code, retryable, retryAfterMs, requestId, cause } = facts;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PortholeError';
    this.status = status;
    this.code = code;
    // Porthole says it itself; this is for what a proxy or a lost connection answers.
    this.retryable = retryable ?? (status === 0 || status === 429 || (status >= 500 && status !== 501));
    this.retryAfterMs = retryAfterMs;
    this.requestId = requestId;
  }
}
