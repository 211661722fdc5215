import { useState } from 'react';
import { type Answer, ApiError, call } from '../api/client.ts';
import { timeLeft } from '../live/time-words.ts';
import { problemOf, useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Problem, State } from '../parts/feedback.tsx';

export type ToolRun = Answer<'GET /api/v1/editor/tool-runs/{run_id}'>;

export interface RunResultProps {
  readonly run: ToolRun;
  /** Undefined while somebody else has the draft: then nothing can be run. */
  readonly lock: string | undefined;
  readonly onRun: (run: ToolRun) => void;
  readonly onRerun: () => void;
}

/** What a run gave, and what may follow on its own snapshot, whatever the editor holds by now. */
export function RunResult({ run, lock, onRun, onRerun }: RunResultProps) {
  const now = useNow();
  const [problem, setProblem] = useState<string>();
  const [over, setOver] = useState(false);
  const [busy, setBusy] = useState<string>();
  const left = Date.parse(run.expires_at) - now;
  const isExpired = over || left <= 0;
  const act = async (id: string) => {
    if (lock === undefined) return;
    setBusy(id);
    setProblem(undefined);
    try {
      onRun(
        await call('POST /api/v1/editor/tool-runs/{run_id}/start-action', {
          path: { run_id: run.run_id },
          body: { snapshot_id: run.snapshot_id, action_id: id },
          headers: { 'draft-lock-token': lock },
        }),
      );
    } catch (error) {
      if (error instanceof ApiError && error.code === 'snapshot_expired') setOver(true);
      else setProblem(problemOf(error));
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <article className="result" aria-label="What the run gave">
      <p className="facts">
        <State value={run.status} />
        {run.action_id === null ? null : <span>action {run.action_id}</span>}
        <span className="id" title={run.snapshot_id}>
          snapshot …{run.snapshot_id.slice(-8)}
        </span>
        <span>{isExpired ? 'expired' : `actions for ${timeLeft(left)}`}</span>
      </p>
      {run.error === null ? null : (
        <>
          <Problem words={`${run.error.code}: ${run.error.message}`} />
          {run.error.traceback === null ? null : <pre>{run.error.traceback}</pre>}
        </>
      )}
      {run.outputs === null ? null : <pre>{JSON.stringify(run.outputs, null, 2)}</pre>}
      {isExpired ? (
        <div className="reason" role="status">
          <span>The snapshot of this run has expired: its actions need a new run.</span>
          <Button variant="primary" isDisabled={lock === undefined} onPress={onRerun}>
            Run again
          </Button>
        </div>
      ) : run.next_actions.length === 0 ? null : (
        <div className="actions" role="group" aria-label="What may follow">
          {run.next_actions.map((action) => (
            <Button
              key={action.id}
              isDisabled={busy !== undefined || lock === undefined}
              onPress={() => void act(action.id)}
            >
              {busy === action.id
                ? 'One moment…'
                : typeof action['title'] === 'string'
                  ? action['title']
                  : typeof action['label'] === 'string'
                    ? action['label']
                    : action.id}
            </Button>
          ))}
        </div>
      )}
      {problem === undefined ? null : <Problem words={problem} />}
      {run.stdout === '' && run.stderr === '' ? null : (
        <details>
          <summary>What it printed</summary>
          <pre>{run.stdout + run.stderr}</pre>
        </details>
      )}
    </article>
  );
}
