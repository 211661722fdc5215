import { useState } from 'react';
import type { Answer } from '../api/client.ts';
import { useAnswer } from '../live/use-live.ts';
import type { RunEvent } from '../runs/event-labels.ts';
import { Empty, Problem } from '../parts/feedback.tsx';
import { LivePreview } from './live-preview.tsx';
import { StartPreview } from './start-preview.tsx';
import type { PortChanges } from './use-doctor.ts';

export interface PreviewsProps {
  readonly run: Answer<'GET /api/runs/{id}'>;
  /** Last known event of the run: previews may change with each. */
  readonly seen: string;
  readonly ports: PortChanges;
  readonly events: readonly RunEvent[];
}

/** The live previews of a run, and ports without one. */
export function Previews({ run, seen, ports, events }: PreviewsProps) {
  const { value, problem, reload } = useAnswer(
    'GET /api/runs/{id}/sandbox/port-forward',
    { path: { id: run.run_id } },
    10_000,
    seen,
  );
  const [fresh, setFresh] = useState<number>();
  const live = value ?? [];
  return (
    <div className="previews">
      {problem === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {live.map((preview) => (
        <LivePreview
          key={preview.session_id}
          run={run}
          preview={preview}
          ports={ports}
          events={events}
          fresh={preview.target_port === fresh}
          onEnd={() => {
            document.getElementById('pane-preview')?.focus();
            setFresh(undefined);
            reload();
          }}
        />
      ))}
      {run.status === 'running' ? (
        <StartPreview
          run={run}
          open={live.map((each) => each.target_port)}
          ports={ports}
          onStarted={(port) => {
            setFresh(port);
            reload();
          }}
        />
      ) : live.length === 0 ? (
        <Empty title="This run has no live preview">
          <p>It is completed: no preview can be started any more.</p>
        </Empty>
      ) : null}
    </div>
  );
}
