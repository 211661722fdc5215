/** Details of an error besides its message. */
export interface ErrorFacts {
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /**
   * The API's code, e.g. `sandbox_not_found`; the client itself sets `unreachable` and
   * `invalid_answer`.
   */
  readonly code: string;
  /**
   * Whether the same call may succeed later.
   * @default by status: no response, 429 and 5xx other than 501
   */
  readonly retryable?: boolean | undefined;
  /** The delay that the API requests, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** What to do next, as a sentence. */
  readonly remedy?: string | undefined;
  /** Id by which the operator finds the cause. */
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/**
 * An error of Porthole, or a failure to reach it. The message states the problem, the value and the
 * remedy; it never contains a credential.
 */
export class PortholeError extends Error {
  readonly status: number;
  readonly code: string;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** What to do next, as a sentence; the message may say it, too. */
  readonly remedy: string | undefined;
  readonly requestId: string | undefined;

  constructor(message: string, facts: ErrorFacts) {
    const { status, code, retryable, retryAfterMs, remedy, requestId, cause } = facts;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PortholeError';
    this.status = status;
    this.code = code;
    // Porthole sends this field; the default is for responses of proxies and lost connections.
    this.retryable = retryable ?? (status === 0 || status === 429 || (status >= 500 && status !== 501));
    this.retryAfterMs = retryAfterMs;
    this.remedy = remedy;
    this.requestId = requestId;
  }
}

/** The error of an answer that cannot be read. */
export function invalidAnswer(message: string, cause?: unknown, status = 200): PortholeError {
  return new PortholeError(message, { status, code: 'invalid_answer', retryable: false, cause });
}
