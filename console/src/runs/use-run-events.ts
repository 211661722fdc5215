import { useCallback, useEffect, useRef, useState } from 'react';
import { addressOf } from '../api/client.ts';
import { useAnswer, useEvents } from '../live/use-live.ts';
import { joinEvents, type RunEvent } from './event-labels.ts';

/** Batches events that arrive within this many milliseconds. */
const TOGETHER_MS = 30;
/** A stream disconnected for longer than this is bypassed by polling: it may never connect. */
const PATIENCE_MS = 3_000;
const ASK_EVERY_MS = 5_000;

/** Everything that happens in a run, live: by time, without gaps or repeats. */
export function useRunEvents(id: string) {
  const [events, setEvents] = useState<readonly RunEvent[]>([]);
  const cursor = useRef('0.0');
  const add = useCallback((more: readonly RunEvent[]) => {
    cursor.current = more.at(-1)?.cursor ?? cursor.current;
    setEvents((before) => joinEvents(before, more));
  }, []);
  const queue = useRef<RunEvent[]>([]);
  const { live } = useEvents(addressOf('GET /api/runs/{id}/activity/events', { id }), ({ data }) => {
    if (queue.current.length === 0) setTimeout(() => add(queue.current.splice(0)), TOGETHER_MS);
    queue.current.push(JSON.parse(data) as RunEvent);
  });
  const isStalled = useStalled(!live);
  const { value: asked } = useAnswer(
    'GET /api/runs/{id}/activity',
    isStalled ? { path: { id }, query: { after: cursor.current, limit: 200 } } : null,
    ASK_EVERY_MS,
  );
  useEffect(() => {
    if (asked !== undefined) add(asked.events);
  }, [asked, add]);
  /** The id of the last event of the run itself; `0`: none yet. */
  const last = events.findLast((event) => event.id.startsWith('r'))?.id ?? '0';
  return { events, last, live };
}

/** Whether `now` has been true for long. */
function useStalled(now: boolean): boolean {
  const [stalled, setStalled] = useState(false);
  useEffect(() => {
    setStalled(false);
    if (!now) return undefined;
    const timer = setTimeout(() => setStalled(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [now]);
  return stalled;
}
