import { useCallback, useEffect, useState } from 'react';
import type { Answer } from '../api/client.ts';
import { serverNow } from '../live/clock.ts';
import { useAnswer, useEvents } from '../live/use-live.ts';
import type { WaitingApproval } from './approval-labels.ts';

export interface Approvals {
  /** Pending requests, oldest first. */
  readonly waiting: readonly WaitingApproval[];
  /** Whether `waiting` is live: of several hidden tabs, only one is. */
  readonly following: boolean;
  /** Removes a request that is known to have ended. */
  readonly forget: (requestId: string) => void;
}

/** Poll interval while the stream is disconnected or unavailable. */
const ASK_EVERY_MS = 5_000;

/**
 * Pending requests of all the user's runs, as reported by the server; each is removed at its
 * expiry, even if the server is unreachable.
 */
export function useApprovals(): Approvals {
  const [notice, setNotice] = useState<readonly WaitingApproval[]>([]);
  const [forgotten, setForgotten] = useState<readonly string[]>([]);
  const { live, following } = useEvents(
    '/api/approvals/events',
    ({ event, data }) => {
      if (event === 'approvals') {
        setNotice((JSON.parse(data) as Answer<'GET /api/approvals'>).approvals);
      }
    },
    'porthole: what waits for a decision',
  );
  const { value: asked } = useAnswer('GET /api/approvals', live ? null : {}, ASK_EVERY_MS);
  const [heard, setHeard] = useState(asked);
  if (asked !== heard) {
    setHeard(asked);
    if (asked !== undefined && !live) setNotice(asked.approvals);
  }
  const waiting = useLasting(notice).filter(({ request_id: id }) => !forgotten.includes(id));
  const forget = useCallback((id: string) => setForgotten((before) => [...before.slice(-50), id]), []);
  return { waiting, following, forget };
}

/** Requests that have not expired. */
function useLasting(notice: readonly WaitingApproval[]): readonly WaitingApproval[] {
  const [now, setNow] = useState(serverNow);
  const lasting = notice.filter(({ expires_at: until }) => Date.parse(until) > now);
  const next = Math.min(...lasting.map(({ expires_at: until }) => Date.parse(until)));
  useEffect(() => {
    if (next === Number.POSITIVE_INFINITY) return undefined;
    const timer = setTimeout(() => setNow(serverNow()), Math.max(0, next - serverNow()) + 50);
    return () => clearTimeout(timer);
  }, [next, now]);
  return lasting;
}
