import { useState } from 'react';
import { Link } from 'wouter';
import { call } from '../api/client.ts';
import { type RunEvent, Timeline } from '../runs/timeline.tsx';
import { useEvents, useAnswer } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Loading, Missing, Problem, State } from '../parts/feedback.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Previews } from '../previews/previews.tsx';

/** One run: its previews, and its story as it goes on. */
export function RunPage({ id }: { readonly id: string }) {
  const [events, setEvents] = useState<readonly RunEvent[]>([]);
  const { live } = useEvents(`/api/runs/${encodeURIComponent(id)}/events`, ({ data }) => {
    const event = JSON.parse(data) as RunEvent;
    setEvents((before) => (Number(event.id) <= Number(before.at(-1)?.id ?? 0) ? before : [...before, event]));
  });
  const last = events.at(-1)?.id ?? '0';
  const {
    value: run,
    problem,
    missing,
    reload,
  } = useAnswer('GET /api/runs/{id}', { path: { id } }, 10_000, last);
  const sandboxId = run?.sandbox_id;
  const { value: sandbox } = useAnswer(
    'GET /v1/sandbox/{id}',
    sandboxId === undefined ? null : { path: { id: sandboxId } },
    10_000,
    last,
  );
  if (run === undefined) {
    if (missing) return <Missing what="run" />;
    return problem === undefined ? <Loading /> : <Problem words={problem} onRetry={reload} />;
  }
  return (
    <>
      <div className="page-head">
        <div>
          <p className="crumb">
            <Link href="/">Runs</Link>
          </p>
          <h1>{run.title ?? 'Untitled run'}</h1>
          <p className="facts">
            <State value={run.status} />
            <span className="id">{run.run_id}</span>
            <span>
              Sandbox{' '}
              <Link href={`/sandboxes/${encodeURIComponent(run.sandbox_id)}`} className="id">
                {run.sandbox_id}
              </Link>{' '}
              {sandbox === undefined ? null : <State value={sandbox.state} />}
            </span>
          </p>
        </div>
        {run.status === 'running' ? (
          <FormDialog
            trigger={<Button>Complete</Button>}
            title="Complete this run?"
            action="Complete it"
            onSubmit={async () => {
              await call('POST /api/runs/{id}/complete', { path: { id } });
              reload();
            }}
          >
            <p>Its agent can do nothing more. What it has made stays in the sandbox.</p>
          </FormDialog>
        ) : null}
      </div>
      <div className="columns">
        <Previews run={run} seen={last} />
        <section aria-labelledby="timeline">
          <div className="section-head">
            <h2 id="timeline">Timeline</h2>
            <span className={`live ${live ? 'on' : ''}`} role="status">
              {live ? 'Live' : 'Reconnecting…'}
            </span>
          </div>
          <Timeline events={events} />
        </section>
      </div>
    </>
  );
}
