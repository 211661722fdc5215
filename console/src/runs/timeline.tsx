import { useState } from 'react';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/feedback.tsx';
import { EVENT_TITLES, eventDetail, type RunEvent } from './event-labels.ts';

const TONES: Readonly<Partial<Record<RunEvent['type'], string>>> = {
  'tool.approval_required': 'ask',
  'tool.approved': 'good',
  'preview.opened': 'good',
  'tool.denied': 'bad',
  'tool.timed_out': 'bad',
};

/** Events shown at a time: thousands are slow to render. */
const PAGE = 100;

/** The timeline of a run, newest first. */
export function Timeline({ events }: { readonly events: readonly RunEvent[] }) {
  const [most, setMost] = useState(PAGE);
  if (events.length === 0) return <Empty title="Nothing has happened yet" />;
  const shown = events.slice(-most).toReversed();
  const rest = events.length - shown.length;
  return (
    <>
      <ol className="timeline" reversed>
        {shown.map((event) => (
          <li key={event.id} className={TONES[event.type] ?? ''}>
            <div>
              <strong>{EVENT_TITLES[event.type]}</strong> <span>{eventDetail(event)}</span>
            </div>
            <time dateTime={event.at} title={new Date(event.at).toLocaleString()}>
              {formatMoment(new Date(event.at))}
            </time>
          </li>
        ))}
      </ol>
      {rest > 0 ? (
        <Button onPress={() => setMost((before) => before + PAGE)}>
          Show {Math.min(PAGE, rest)} earlier of {rest}
        </Button>
      ) : null}
    </>
  );
}

/** The time; with the date if not today. */
function formatMoment(at: Date): string {
  return at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString() : at.toLocaleString();
}
