/** Why the front does not serve a request: the answer, after which the connection ends. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
}

/** The front's own codes. Each is a code of the API's error catalogue, with the same status. */
export const REFUSALS = {
  invalid_request: { status: 400, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  request_timeout: { status: 408, retryable: true },
  payload_too_large: { status: 413, retryable: false },
  headers_too_large: { status: 431, retryable: false },
} as const;

/** A refusal with the status of its code. */
export function refusal(code: keyof typeof REFUSALS, message: string): Refusal {
  return { code, message, ...REFUSALS[code] };
}
