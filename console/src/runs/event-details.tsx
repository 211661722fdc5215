import { useId, useState } from 'react';
import type { Answer } from '../api/client.ts';
import { ChangedLines } from '../code/changed-lines.tsx';
import { useAnswer } from '../live/use-live.ts';
import { Button, Pending } from '../parts/elements.tsx';
import { logText } from '../sandboxes/log-text.ts';
import type { RunEvent } from './event-labels.ts';

type Details = Answer<'GET /api/runs/{id}/activity/{event}/details'>;

/** Events with details, and what a press shows. */
const NAMES: Readonly<Partial<Record<RunEvent['type'], string>>> = {
  'command.exited': 'output',
  'process.started': 'output',
  'process.exited': 'output',
  'file.written': 'changes',
};

interface EventDetailsProps {
  readonly runId: string;
  readonly event: RunEvent;
}

/** The output of a command, or the change of a file, when the user asks for it. */
export function EventDetails({ runId, event: { id, type, data } }: EventDetailsProps) {
  const [isOpen, setIsOpen] = useState(false);
  const place = useId();
  const name = NAMES[type];
  if (name === undefined || (type === 'file.written' && typeof data['detail'] !== 'string')) return null;
  return (
    <>
      <Button
        variant="plain"
        aria-expanded={isOpen}
        aria-controls={place}
        onPress={() => setIsOpen((was) => !was)}
      >
        {isOpen ? `Hide ${name}` : `Show ${name}`}
      </Button>
      <div id={place} className="event-details">
        {isOpen ? <Shown runId={runId} id={id} /> : null}
      </div>
    </>
  );
}

function Shown({ runId, id }: { readonly runId: string; readonly id: string }) {
  const { value, problem, reload } = useAnswer('GET /api/runs/{id}/activity/{event}/details', {
    path: { id: runId, event: id },
  });
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  const { output, change, missing } = value;
  if (output !== null) return <Output output={output} />;
  if (change === null) return <p className="quiet">{missing}</p>;
  if (change.before === change.after) return <p className="quiet">The file was written without a change.</p>;
  return (
    <>
      {change.before === null ? <p className="quiet">A new file.</p> : null}
      <ChangedLines before={logText(change.before ?? '')} after={logText(change.after)} />
    </>
  );
}

interface OutputProps {
  readonly output: NonNullable<Details['output']>;
}

function Output({ output: { first, last, omitted_bytes: omitted } }: OutputProps) {
  if (first === '' && last === '' && omitted === 0) return <p className="quiet">Nothing was printed.</p>;
  return (
    <pre className="log" dir="ltr" role="region" aria-label="Output" tabIndex={0}>
      {logText(first)}
      {omitted === 0 ? null : <em>{`\n… ${omitted.toLocaleString()} bytes are not kept …\n`}</em>}
      {logText(last)}
    </pre>
  );
}
