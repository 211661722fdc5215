import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';
import type { SandboxRecord } from '../ports/sandbox-records.ts';

/** Longest time between two heartbeats, in milliseconds; a short ttl has three within it. */
const EVERY_MS = 60_000;

/**
 * Heartbeats for as long as somebody has something of the sandbox open: at once, and again and again until the returned function is called. One without a ttl needs none.
 */
export function sendHeartbeats(
  { records, clock }: { readonly records: Pick<Records, 'sandboxes'>; readonly clock: Clock },
  sandbox: Pick<SandboxRecord, 'id' | 'generation' | 'ttlSeconds'>,
): () => void {
  const { ttlSeconds } = sandbox;
  if (ttlSeconds === null) return () => undefined;
  // One that fails must end nothing: the next one comes soon.
  const heartbeat = () => void records.sandboxes.heartbeat(sandbox, clock.now()).catch(() => undefined);
  const timer = setInterval(heartbeat, Math.min(EVERY_MS, (ttlSeconds * 1_000) / 3)).unref();
  heartbeat();
  return () => clearInterval(timer);
}
