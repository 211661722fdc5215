/** Often enough that two may be lost, in milliseconds; no more seldom than previews are kept alive. */
export function heartbeatEvery(ttlSeconds: number): number {
  return Math.min(60_000, Math.max(500, (ttlSeconds * 1_000) / 3));
}
