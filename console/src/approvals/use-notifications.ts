import { useEffect, useRef } from 'react';
import { questionOf, runName } from './approval-labels.ts';
import type { Approvals } from './use-approvals.ts';

/** Has the browser tell of each request that begins while nobody sees the tab, where somebody has allowed that. */
export function useNotifications({ waiting, following }: Pick<Approvals, 'waiting' | 'following'>): void {
  const known = useRef(new Set<string>());
  useEffect(() => {
    const begun = waiting.filter(({ request_id: id }) => !known.current.has(id));
    known.current = new Set(waiting.map(({ request_id: id }) => id));
    if (!following || document.visibilityState === 'visible') return;
    if (!('Notification' in window) || Notification.permission !== 'granted') return;
    for (const approval of begun) {
      try {
        const notification = new Notification(questionOf(approval), {
          body: `The agent of ${runName(approval)} asks.`,
          tag: approval.request_id,
        });
        notification.addEventListener('click', () => {
          window.focus();
          notification.close();
        });
      } catch {
        // Some browsers have them of service workers alone.
      }
    }
  }, [waiting, following]);
}
