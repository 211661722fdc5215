import type { SandboxRecord } from './sandbox-records.ts';

/** In milliseconds. */
export interface LifecycleLimits {
  /** Without activity a running sandbox is stopped. */
  readonly idle: number;
  /** A stopped one is destroyed after this long. */
  readonly retention: number;
}

/**
 * A creation that is not done after this long was cut off: ten times as long as images are waited
 * for.
 */
export const ABANDONED_MS = 30 * 60_000;

export type LifecycleDecision =
  | 'keep'
  /** It was quiet for too long. */
  | 'stop'
  /** Nobody said within its ttl that it is still wanted. */
  | 'lapse'
  /** Somebody wanted it stopped, and it is not seen to be. */
  | 'finish_stop'
  /** It was stopped for too long. */
  | 'expire'
  /** Somebody wanted it gone, and it is not seen to be; or its creation was cut off. */
  | 'finish_destroy';

/**
 * What is to become of a sandbox at `now`. Pure: whoever acts on it must hold what was judged
 * against what stands by then.
 * @param seenUntil an instant up to which it is known to be in use by traffic that the record does
 * not see
 */
export function lifecycleDecision(
  sandbox: SandboxRecord,
  now: Date,
  limits: LifecycleLimits,
  seenUntil?: Date,
): LifecycleDecision {
  const { desired, observed, createdAt, lastActiveAt, stoppedAt } = sandbox;
  const since = (instant: Date) => now.getTime() - instant.getTime();
  if (desired === 'destroyed') return observed === 'destroyed' ? 'keep' : 'finish_destroy';
  if (observed === 'creating') return since(createdAt) > ABANDONED_MS ? 'finish_destroy' : 'keep';
  if (desired === 'running') {
    const active = Math.max(lastActiveAt.getTime(), seenUntil?.getTime() ?? 0);
    if (now.getTime() - active > limits.idle) return 'stop';
    // While it comes back its ttl has not begun.
    const expiry = observed === 'running' ? expiryOf(sandbox) : undefined;
    return expiry !== undefined && now > expiry ? 'lapse' : 'keep';
  }
  if (observed !== 'stopped') return 'finish_stop';
  return since(stoppedAt ?? lastActiveAt) > limits.retention ? 'expire' : 'keep';
}

/**
 * When it is stopped unless there is another heartbeat; undefined where it needs none, and where it
 * is not wanted to run.
 */
export function expiryOf({
  desired,
  ttlSeconds,
  heartbeatAt,
}: Pick<SandboxRecord, 'desired' | 'ttlSeconds' | 'heartbeatAt'>): Date | undefined {
  if (ttlSeconds === null || desired !== 'running') return undefined;
  return new Date(heartbeatAt.getTime() + ttlSeconds * 1_000);
}

/** Whether a stopped sandbox was stopped because no heartbeat came within its ttl. */
export function hasLapsed({
  ttlSeconds,
  heartbeatAt,
  stoppedAt,
}: Pick<SandboxRecord, 'ttlSeconds' | 'heartbeatAt' | 'stoppedAt'>): boolean {
  if (ttlSeconds === null || stoppedAt === null) return false;
  return stoppedAt.getTime() - heartbeatAt.getTime() > ttlSeconds * 1_000;
}
