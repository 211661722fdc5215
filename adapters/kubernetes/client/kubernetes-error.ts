import { secretRedactor } from '#core/auth/redact-secrets.ts';
import type { Status } from './kubernetes-object.ts';

const redact = secretRedactor([]);

/**
 * A failed call to the API server. The message contains no credential and no preview token, which
 * is part of a route's hostname.
 */
export class KubernetesError extends Error {
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /**
   * The API server's reason, e.g. `AlreadyExists`, `NotFound`, `Conflict`; `NoAnswer` where there
   * was no response; `QuotaStatusUnknown` for a 403 that passes: a ResourceQuota refuses everything
   * until its controller has counted for the first time.
   */
  readonly reason: string;
  /** Whether the call may have taken effect despite the failure. */
  readonly inDoubt: boolean;
  /** How long the server asked to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Token that continues an expired list, with inconsistent results. */
  readonly continueAt: string | undefined;

  constructor(
    message: string,
    facts: {
      status: number;
      reason: string;
      inDoubt: boolean;
      retryAfterMs?: number | undefined;
      continueAt?: string | undefined;
      cause?: unknown;
    },
  ) {
    super(redact(message), { cause: facts.cause });
    this.name = 'KubernetesError';
    this.status = facts.status;
    this.reason = facts.reason;
    this.inDoubt = facts.inDoubt;
    this.retryAfterMs = facts.retryAfterMs;
    this.continueAt = facts.continueAt;
  }
}

/** An exchange that did not end with an answer. */
export class ExchangeFailure extends Error {
  /** Whether the server may have read the request. */
  readonly maybeSent: boolean;

  constructor(message: string, maybeSent: boolean, cause: unknown) {
    super(message, { cause });
    this.name = 'ExchangeFailure';
    this.maybeSent = maybeSent;
  }
}

/** By status: proxies answer without a Status. */
const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
};

/** The error of a response with an error status. */
export function errorFromAnswer(
  what: string,
  status: number,
  retryAfter: string | undefined,
  body: string,
): KubernetesError {
  const answer = parseStatus(body);
  const seconds = answer?.details?.retryAfterSeconds ?? Number(retryAfter ?? Number.NaN);
  const message = answer?.message ?? body.slice(0, 200);
  const fallback = REASONS[status] ?? (status >= 500 ? 'InternalError' : 'BadRequest');
  return new KubernetesError(`${what}: ${status} ${message}`.trimEnd(), {
    status,
    reason: isQuotaUncounted(status, message) ? 'QuotaStatusUnknown' : (answer?.reason ?? fallback),
    // A proxy may have lost the response of a call that succeeded.
    inDoubt: status >= 500,
    retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined,
    continueAt: answer?.metadata?.continue || undefined,
  });
}

/** The message of the API server's admission plug-in ResourceQuota; its reason is `Forbidden`. */
function isQuotaUncounted(status: number, message: string): boolean {
  return status === 403 && message.includes('status unknown for quota');
}

/** A call that got no answer. */
export function errorFromFailure(what: string, cause: unknown): KubernetesError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new KubernetesError(`${what}: no answer from the API server (${why})`, {
    status: 0,
    reason: 'NoAnswer',
    inDoubt: cause instanceof ExchangeFailure && cause.maybeSent,
    cause,
  });
}

/** Whether the same call may succeed later, without a change to it or to the cluster's settings. */
export function isTransient({ status, reason }: KubernetesError): boolean {
  return status === 0 || status === 429 || status >= 500 || reason === 'QuotaStatusUnknown';
}

export function isReason(error: unknown, ...reasons: readonly string[]): error is KubernetesError {
  return error instanceof KubernetesError && reasons.includes(error.reason);
}

/** Handles the error of reading an object that may not exist: undefined if it does not. */
export function absent(error: unknown): undefined {
  if (isReason(error, 'NotFound')) return undefined;
  throw error;
}

function parseStatus(body: string): Status | undefined {
  try {
    const answer = JSON.parse(body) as Status | null;
    return answer?.kind === 'Status' ? answer : undefined;
  } catch {
    return undefined;
  }
}
