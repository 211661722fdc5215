import type { KubernetesError } from './kubernetes-error.ts';

/** A call is tried this often in all. */
export const MAX_TRIES = 5;

const FIRST_MS = 50;

/** When a call may be repeated. */
export interface Repetition {
  /** Also when the failed one may have taken effect: where a repetition changes nothing. */
  readonly inDoubt: boolean;
  /** Also after a 409 `Conflict`: where that means two writers of one object, or of one quota, and not a precondition that fails for good. */
  readonly conflict: boolean;
}

/**
 * How long to wait before the next try, in milliseconds; undefined when there shall be none. `tries` have failed so far; `random` is from 0 to 1.
 * What the server asks for is waited for in full; otherwise the wait doubles, by half at random, so that many who failed together do not come back together.
 */
export function retryDelay(
  error: KubernetesError,
  tries: number,
  repetition: Repetition,
  random: number,
): number | undefined {
  if (tries >= MAX_TRIES || (error.inDoubt && !repetition.inDoubt)) return undefined;
  const { status, reason } = error;
  const mayPass = status === 0 || status === 429 || status >= 500;
  if (!mayPass && !(repetition.conflict && status === 409 && reason === 'Conflict')) return undefined;
  const grown = FIRST_MS * 2 ** (tries - 1) * (0.5 + random / 2);
  return Math.max(error.retryAfterMs ?? 0, grown);
}
