import type { Answer } from '../api/client.ts';
import { Empty } from '../parts/feedback.tsx';

export type RunEvent = Answer<'GET /api/runs/{id}/timeline'>['events'][number];

const TITLES: Readonly<Record<RunEvent['type'], string>> = {
  'run.created': 'Run started',
  'run.completed': 'Run completed',
  'sandbox.created': 'Sandbox created',
  'sandbox.stopped': 'Sandbox stopped',
  'sandbox.resumed': 'Sandbox resumed',
  'sandbox.destroyed': 'Sandbox destroyed',
  'preview.opened': 'Preview opened',
  'preview.kept': 'Preview kept alive',
  'preview.stopped': 'Preview stopped',
  'preview.reaped': 'Preview ended',
  'tool.approval_required': 'Approval asked for',
  'tool.approved': 'Approved',
  'tool.denied': 'Denied',
  'tool.timed_out': 'Nobody decided in time',
  'tool.withdrawn': 'Request withdrawn',
};

const TONES: Readonly<Record<string, string>> = {
  'tool.approval_required': 'ask',
  'tool.approved': 'good',
  'preview.opened': 'good',
  'tool.denied': 'bad',
  'tool.timed_out': 'bad',
};

/** What else an event says, in a few words. */
export function eventDetail({ type, data }: RunEvent): string {
  const port = data['target_port'];
  const parts = [
    typeof port === 'number' ? `port ${port}` : undefined,
    typeof data['decided_by'] === 'string' ? `by ${data['decided_by']}` : undefined,
    typeof data['by'] === 'string' && data['by'] !== '' ? `by the ${data['by']}` : undefined,
    typeof data['source'] === 'string' && data['source'] !== 'person'
      ? `(${data['source'].replace('_', ' ')})`
      : undefined,
    typeof data['scope'] === 'string' && data['scope'] !== 'once'
      ? data['scope'] === 'run'
        ? 'for this run'
        : 'always'
      : undefined,
    typeof data['reason'] === 'string' ? `“${data['reason'].replaceAll('_', ' ')}”` : undefined,
    type === 'sandbox.created' && typeof data['image'] === 'string' ? data['image'] : undefined,
  ];
  return parts.filter((part) => part !== undefined).join(' ');
}

/** The story of a run, newest first. */
export function Timeline({ events }: { readonly events: readonly RunEvent[] }) {
  if (events.length === 0) return <Empty title="Nothing has happened yet" />;
  return (
    <ol className="timeline" reversed>
      {events.toReversed().map((event) => (
        <li key={event.id} className={TONES[event.type] ?? ''}>
          <div>
            <strong>{TITLES[event.type]}</strong> <span>{eventDetail(event)}</span>
          </div>
          <time dateTime={event.at}>{new Date(event.at).toLocaleTimeString()}</time>
        </li>
      ))}
    </ol>
  );
}
