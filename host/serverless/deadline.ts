/** What is read of a runtime's context. */
export interface Deadline {
  getRemainingTimeInMillis?(): number;
}

/**
 * Waits of a buffered request end after this time, in milliseconds, and clients repeat it: API
 * Gateway ends requests after 29 seconds, and a function that is ended loses its process.
 */
const WAITS_MS = 25_000;
/** Waits and streams end this long before the runtime's own limit, in milliseconds. */
const EARLY_MS = 1_000;

/** Time until the limit of the runtime, less `earlyMs`; at least 0. Undefined without a limit. */
export function remaining(context: Deadline | undefined, earlyMs = EARLY_MS): number | undefined {
  const rest = context?.getRemainingTimeInMillis?.();
  return rest === undefined ? undefined : Math.max(rest - earlyMs, 0);
}

/** The end of the waits of a buffered request. */
export function bufferedEnding(context: Deadline | undefined): () => AbortSignal {
  const rest = Math.min(remaining(context) ?? WAITS_MS, WAITS_MS);
  return () => AbortSignal.timeout(rest);
}
