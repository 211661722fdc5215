/** Retries after the first call. */
const MAX_RETRIES = 3;
/** The first delay, in milliseconds; each further one is twice as long. */
const FIRST_MS = 200;
/** Longest `Retry-After` that is honored, in milliseconds. */
const MAX_RETRY_AFTER_MS = 30_000;

/**
 * Statuses of transient errors. A 429 is transient only with `Retry-After`: waiting does not raise
 * a quota.
 */
const TRANSIENT = new Set([0, 408, 502, 503, 504]);

/**
 * Delay before a retry, in milliseconds; undefined: no retry.
 * @param retries number of retries so far
 * @param chance jitter from 0 to 1: callers that failed together do not retry together
 */
export function retryDelay(
  {
    status,
    retryable,
    retryAfterMs,
  }: { readonly status: number; readonly retryable: boolean; readonly retryAfterMs: number | undefined },
  retries: number,
  chance: number,
): number | undefined {
  if (!retryable || retries >= MAX_RETRIES) return undefined;
  if (retryAfterMs !== undefined) return retryAfterMs <= MAX_RETRY_AFTER_MS ? retryAfterMs : undefined;
  if (!TRANSIENT.has(status)) return undefined;
  return FIRST_MS * 2 ** retries * (0.5 + chance / 2);
}

/**
 * `Retry-After` in milliseconds (RFC 9110, section 10.2.3): seconds, or a date; undefined if absent
 * or invalid.
 */
export function readRetryAfter(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}
