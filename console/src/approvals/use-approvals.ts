import { useCallback, useEffect, useState } from 'react';
import type { Answer } from '../api/client.ts';
import { serverNow } from '../live/clock.ts';
import { useAnswer, useEvents } from '../live/use-live.ts';
import type { WaitingApproval } from './approval-labels.ts';

export interface Approvals {
  /** What waits, the oldest first. */
  readonly waiting: readonly WaitingApproval[];
  /** Whether `waiting` is kept up to date: of several hidden tabs, in one. */
  readonly following: boolean;
  /** It is known here that this one waits no more. */
  readonly forget: (requestId: string) => void;
}

/** While the stream is away, or may not be had, so often is it asked. */
const ASK_EVERY_MS = 5_000;

/**
 * What waits for a decision in all of one's runs, as the server tells it; until its time is over,
 * though the server should be away.
 */
export function useApprovals(): Approvals {
  const [notice, setNotice] = useState<readonly WaitingApproval[]>([]);
  const [forgotten, setForgotten] = useState<readonly string[]>([]);
  const { live, following } = useEvents(
    '/api/approvals/events',
    ({ type, data }) => {
      if (type === 'approvals') {
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
