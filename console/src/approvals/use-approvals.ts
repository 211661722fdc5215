import { useState } from 'react';
import type { Answer } from '../api/client.ts';
import { useEvents } from '../live/use-live.ts';

export type WaitingApproval = Answer<'GET /api/approvals'>['approvals'][number];

/** What waits for a decision in all of one's runs, as the server tells it. */
export function useApprovals(): readonly WaitingApproval[] {
  const [waiting, setWaiting] = useState<readonly WaitingApproval[]>([]);
  useEvents('/api/approvals/events', ({ type, data }) => {
    if (type !== 'approvals') return;
    const { approvals } = JSON.parse(data) as { approvals: readonly WaitingApproval[] };
    setWaiting(approvals);
  });
  return waiting;
}
