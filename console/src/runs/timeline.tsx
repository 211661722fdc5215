import { memo, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { useIsOn } from '../live/person.ts';
import { formatMoment, formatTimeOfDay } from '../live/time-format.ts';
import { Button, Choice, Empty, TextInput } from '../parts/elements.tsx';
import { LookPicture } from '../previews/look-picture.tsx';
import { placeAfter, usePlace } from '../sandboxes/use-place.ts';
import { EventDetails } from './event-details.tsx';
import { EVENT_KINDS, EVENT_TITLES, eventDetail, eventMatches, type RunEvent } from './event-labels.ts';

const TONES: Readonly<Partial<Record<RunEvent['type'], string>>> = {
  'tool.approval_required': 'ask',
  'tool.approved': 'good',
  'preview.opened': 'good',
  'tool.denied': 'bad',
  'tool.timed_out': 'bad',
};

/** Events shown at a time: thousands are slow to render. */
const PAGE = 100;

interface TimelineProps {
  readonly runId: string;
  /** Name of the run's owner. */
  readonly owner: string;
  readonly events: readonly RunEvent[];
}

/** What happened in a run, newest first. `?event=` of the address leads to one event. */
export function Timeline({ runId, owner, events }: TimelineProps) {
  const [most, setMost] = useState(PAGE);
  const [kind, setKind] = useState('all');
  const [text, setText] = useState('');
  const [place] = usePlace();
  const search = useDeferredValue(`?${place}`);
  const linked = place.get('event');
  // Rendered after each key is painted: thousands of events take longer than a key may.
  const [ofKind, words] = [useDeferredValue(kind), useDeferredValue(text)];
  const found = useMemo(
    () => events.filter((event) => event.id === linked || eventMatches(event, owner, ofKind, words)),
    [events, owner, ofKind, words, linked],
  );
  if (events.length === 0) return <Empty title="Nothing has happened yet" />;
  const linkedAt = linked === null ? -1 : found.findIndex(({ id }) => id === linked);
  const count = linkedAt === -1 ? most : Math.max(most, found.length - linkedAt);
  const shown = found.slice(-count).toReversed();
  const rest = found.length - shown.length;
  return (
    <>
      <div className="filters" role="search" aria-label="Filter events">
        <TextInput label="Find in events" type="search" value={text} onChange={setText} maxLength={200} />
        <Choice label="Kind" value={kind} onChange={setKind} options={EVENT_KINDS} />
      </div>
      <p className="quiet" role="status">
        {found.length === events.length
          ? `${events.length.toLocaleString()} ${events.length === 1 ? 'event' : 'events'}`
          : `${found.length.toLocaleString()} of ${events.length.toLocaleString()} events`}
      </p>
      {found.length === 0 ? <Empty title="No event matches" /> : null}
      <ol className="timeline" reversed>
        {shown.map((event) => (
          <TimelineEvent
            key={event.id}
            runId={runId}
            owner={owner}
            event={event}
            isLinked={event.id === linked}
            href={placeAfter(search, { event: event.id })}
          />
        ))}
      </ol>
      {rest > 0 ? (
        <Button onPress={() => setMost(count + PAGE)}>
          Show {Math.min(PAGE, rest)} earlier of {rest}
        </Button>
      ) : null}
    </>
  );
}

interface TimelineEventProps {
  readonly runId: string;
  readonly owner: string;
  readonly event: RunEvent;
  readonly isLinked: boolean;
  /** Of this event, on the same page. */
  readonly href: string;
}

const TimelineEvent = memo(({ runId, owner, event, isLinked, href }: TimelineEventProps) => {
  const at = new Date(event.at);
  const { look } = event.data;
  const isOn = useIsOn();
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isLinked) item.current?.scrollIntoView({ block: 'center' });
  }, [isLinked]);
  return (
    <li ref={item} className={`${toneOf(event)}${isLinked ? ' linked' : ''}`}>
      <div>
        <strong>{EVENT_TITLES[event.type]}</strong> <span>{eventDetail(event, owner)}</span>
      </div>
      <EventDetails runId={runId} event={event} />
      {typeof look === 'string' && isOn('pages') ? <LookPicture runId={runId} look={look} /> : null}
      <Link
        href={location.pathname + href}
        title="Link to this event"
        {...(isLinked ? { 'aria-current': 'true' as const } : {})}
      >
        <time dateTime={event.at} title={formatMoment(at)}>
          {formatRecent(at)}
        </time>
      </Link>
    </li>
  );
});
TimelineEvent.displayName = 'TimelineEvent';

function toneOf({ type, data }: RunEvent): string {
  const failed = typeof data['exit_code'] === 'number' && data['exit_code'] !== 0;
  return failed || data['decision'] === 'blocked' ? 'bad' : (TONES[type] ?? '');
}

/** The time; with the date if not today. */
function formatRecent(at: Date): string {
  return at.toDateString() === new Date().toDateString() ? formatTimeOfDay(at) : formatMoment(at);
}
