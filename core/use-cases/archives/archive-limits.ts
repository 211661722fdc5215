/** The longest that keeping one workspace may take, in milliseconds: a server that hangs must not hold up all others. */
export const ARCHIVED_WITHIN_MS = 30 * 60_000;
