import { useSyncExternalStore } from 'react';
import { serverNow, timeAgo } from '../live/clock.ts';

const POLL_MS = 15_000;
const listeners = new Set<() => void>();
let now = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all rows of all lists. */
function subscribe(listener: () => void): () => void {
  now = serverNow();
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = serverNow();
    for (const each of listeners) each();
  }, POLL_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Relative time. Re-renders only when its text changes. */
export function Ago({ at }: { readonly at: string }) {
  const words = useSyncExternalStore(subscribe, () => timeAgo(now - Date.parse(at)));
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {words}
    </time>
  );
}
