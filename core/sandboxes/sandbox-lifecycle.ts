import type { SandboxRecord } from './sandbox-records.ts';

/** In milliseconds. */
export interface LifecycleLimits {
  /** A running sandbox is stopped after this long without activity. */
  readonly idle: number;
  /** A stopped sandbox is destroyed after this long. */
  readonly retention: number;
}

/** A creation that is unfinished after this long was interrupted: ten times the wait for images. */
export const ABANDONED_MS = 30 * 60_000;

export type LifecycleDecision =
  | 'keep'
  /** No activity within the idle limit. */
  | 'stop'
  /** No heartbeat within its ttl. */
  | 'lapse'
  /** Its time is over: it is stopped or destroyed, as it was asked for. */
  | 'time_out'
  /** Desired `stopped`, not observed so. */
  | 'finish_stop'
  /** Stopped for longer than the retention. */
  | 'expire'
  /** Desired `destroyed`, not observed so; or its creation was interrupted. */
  | 'finish_destroy';

/**
 * The lifecycle decision for a sandbox at `now`. Pure: the caller must apply it only if the record
 * is unchanged by then (TOCTOU).
 * @param seenUntil until when it is in use by traffic that the record does not contain
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
  if (isTimedOut(sandbox, now)) return 'time_out';
  if (desired === 'running') {
    const active = Math.max(lastActiveAt.getTime(), seenUntil?.getTime() ?? 0);
    if (now.getTime() - active > limits.idle) return 'stop';
    // The ttl begins once the resume is complete.
    const expiry = observed === 'running' ? expiryOf(sandbox) : undefined;
    return expiry !== undefined && now > expiry ? 'lapse' : 'keep';
  }
  if (observed !== 'stopped') return 'finish_stop';
  return since(stoppedAt ?? lastActiveAt) > limits.retention ? 'expire' : 'keep';
}

/**
 * When it is stopped unless another heartbeat arrives; undefined without a ttl, or if it is not
 * desired to run.
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

/** Whether its time is over, and it has not ended yet. */
export function isTimedOut(
  { desired, timeoutAt, onTimeout }: Pick<SandboxRecord, 'desired' | 'timeoutAt' | 'onTimeout'>,
  now: Date,
): boolean {
  if (timeoutAt === null || now <= timeoutAt) return false;
  return desired === 'running' || (desired === 'stopped' && onTimeout === 'delete');
}
