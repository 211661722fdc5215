/** Calls beside the first. */
const MOST_RETRIES = 3;
/** The first pause; each further one is twice as long. In milliseconds. */
const FIRST_MS = 200;
/** Longest `Retry-After` that is honored, in milliseconds. */
const MOST_MS = 30_000;

/**
 * Statuses that say "not now" about the very same call. A 429 says so only where it says until
 * when: a quota does not end by waiting.
 */
const TRANSIENT = new Set([0, 408, 502, 503, 504]);

/**
 * How long to wait before a call is repeated, in milliseconds; undefined: it is not.
 * @param retries how often it has been repeated
 * @param chance from 0 to 1: callers that failed together do not come back together
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
  if (!retryable || retries >= MOST_RETRIES) return undefined;
  if (retryAfterMs !== undefined) return retryAfterMs <= MOST_MS ? retryAfterMs : undefined;
  if (!TRANSIENT.has(status)) return undefined;
  return FIRST_MS * 2 ** retries * (0.5 + chance / 2);
}

/**
 * `Retry-After` in milliseconds (RFC 9110, section 10.2.3): seconds, or a date; undefined where it
 * says nothing.
 */
export function readRetryAfter(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}
