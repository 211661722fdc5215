import type { Delivery, DisabledReason, Webhook } from './webhook-store.ts';

/** The end of an attempt: the status of the answer, or why there is no answer. */
export type AttemptOutcome =
  | { readonly status: number }
  | { readonly error: string }
  /** The process ended during the attempt. */
  | 'interrupted'
  /** The event is no longer in the audit, or redacted. */
  | 'removed';

interface Shown {
  readonly status: number | null;
  readonly error: string | null;
}

export type AttemptDecision =
  | ({ readonly kind: 'delivered' } & Shown)
  /** Others of the webhook are not tried before `hookRetryAt`. */
  | ({ readonly kind: 'retry'; readonly retryAt: Date; readonly hookRetryAt: Date } & Shown)
  /** Null: the webhook did not fail. */
  | ({ readonly kind: 'give_up'; readonly hookRetryAt: Date | null } & Shown)
  | ({ readonly kind: 'disable'; readonly reason: DisabledReason } & Shown)
  /** Due at once, as if it had not been tried. */
  | ({ readonly kind: 'again' } & Shown);

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** How long a delivery is tried, and how long a webhook may fail. */
export const GIVE_UP_AFTER_MS = 72 * HOUR;
/** 5 s, 20 s, 80 s … 8 h. */
const RETRY = { first: 5 * SECOND, factor: 4, most: 8 * HOUR };
/** Between attempts of a webhook that fails, whatever it has to deliver. */
const PROBE = { first: SECOND, factor: 2, most: 300 * SECOND };

type Backoff = typeof RETRY;

/** How much a pause varies, so that retries do not come together. */
const VARIES = 0.2;
/** How far clocks of several hosts may differ; longer than a lease. */
const MARGIN_MS = 60 * SECOND;
/** The longest pauses after so many attempts, and of a webhook, in milliseconds. */
export const MAX_PAUSES_MS = {
  delivery: Array.from({ length: 8 }, (_, attempts) =>
    attempts === 0 ? MARGIN_MS : pause(RETRY, attempts, 1) + MARGIN_MS,
  ),
  hook: PROBE.most * (1 + VARIES) + MARGIN_MS,
};

/** @param chance from 0 to 1 */
function pause({ first, factor, most }: Backoff, tries: number, chance: number): number {
  return Math.min(first * factor ** (tries - 1), most) * (1 - VARIES + 2 * VARIES * chance);
}

export function decideAttempt(
  outcome: AttemptOutcome,
  hook: Pick<Webhook, 'failures' | 'failingAt'>,
  { attempts, firstAt }: Pick<Delivery, 'attempts' | 'firstAt'>,
  now: Date,
  chance: number,
): AttemptDecision {
  if (outcome === 'interrupted') return { kind: 'again', status: null, error: 'The process ended' };
  if (outcome === 'removed')
    return {
      kind: 'give_up',
      hookRetryAt: null,
      status: null,
      error: 'The event was removed from the audit',
    };
  const status = 'status' in outcome ? outcome.status : null;
  if (status !== null && status >= 200 && status < 300) return { kind: 'delivered', status, error: null };
  const shown: Shown = { status, error: 'error' in outcome ? outcome.error : answerText(outcome.status) };
  if (status === 410) return { kind: 'disable', reason: 'gone', ...shown };
  const at = now.getTime();
  const hasFailedFor = (since: Date | null) => since !== null && at - since.getTime() >= GIVE_UP_AFTER_MS;
  if (hasFailedFor(hook.failingAt)) return { kind: 'disable', reason: 'failing', ...shown };
  const hookRetryAt = new Date(at + pause(PROBE, hook.failures + 1, chance));
  const last = (firstAt?.getTime() ?? at) + GIVE_UP_AFTER_MS;
  if (at >= last) return { kind: 'give_up', hookRetryAt, ...shown };
  const retryAt = new Date(Math.min(at + pause(RETRY, attempts, chance), last));
  return { kind: 'retry', retryAt, hookRetryAt, ...shown };
}

function answerText(status: number): string {
  const isRedirect = status >= 300 && status < 400;
  return isRedirect
    ? `The receiver redirects (${status}), which is not followed`
    : `The receiver answered ${status}`;
}
