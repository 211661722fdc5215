import { timeLeft } from '../live/format-time.ts';
import { useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Problem, State } from '../parts/feedback.tsx';
import { ActionButton } from './action-button.tsx';
import { BoundedText } from './bounded-text.tsx';
import { formatDuration } from './format-duration.ts';
import { offeredBy } from './next-actions.ts';
import type { ToolRun, UnderWay } from './use-tool-runs.ts';

export interface RunResultProps {
  readonly run: ToolRun;
  /** The server has said that its snapshot is over. */
  readonly expired: boolean;
  /** Nothing can be started now: why. */
  readonly refused: string | undefined;
  readonly underWay: UnderWay | undefined;
  readonly onAct: (action: { readonly id: string; readonly title: string }, inputs: unknown) => Promise<void>;
  readonly onRunAgain: () => void;
}

/** What a run gave, and what may follow on its own snapshot, whatever the editor holds by now. */
export function RunResult({ run, expired, refused, underWay, onAct, onRunAgain }: RunResultProps) {
  const now = useNow();
  const left = Date.parse(run.expires_at) - now;
  const isExpired = expired || left <= 0;
  const actions = offeredBy(run);
  const isBusy = underWay !== undefined;
  const { error, outputs } = run;
  return (
    <article className="result" aria-label="What the run gave">
      <p className="facts">
        <State value={run.status} />
        {run.action_id === null ? null : <span>action {run.action_id}</span>}
        <span>{formatDuration(run, now)}</span>
        <span className="id" title={run.snapshot_id}>
          snapshot …{run.snapshot_id.slice(-8)}
        </span>
        {isExpired ? (
          <span>expired</span>
        ) : actions.length === 0 ? null : (
          <span>actions for {timeLeft(left)}</span>
        )}
      </p>
      {error === null ? null : (
        <>
          <Problem words={`${error.code}: ${error.message}`} />
          {error.traceback === null ? null : (
            <BoundedText label="Traceback" text={error.traceback} file={`${run.run_id}-traceback.txt`} />
          )}
        </>
      )}
      {outputs === null ? null : (
        <BoundedText
          label="Outputs"
          text={typeof outputs === 'string' ? outputs : JSON.stringify(outputs, null, 2)}
          file={typeof outputs === 'string' ? `${run.run_id}.txt` : `${run.run_id}.json`}
        />
      )}
      {isExpired ? (
        <div className="reason" role="status">
          <span>
            {actions.length === 0
              ? 'The snapshot of this run has expired.'
              : 'The snapshot of this run has expired: its actions need a new run.'}{' '}
            That runs what the editor holds now, with the same inputs.
          </span>
          <Button variant="primary" isDisabled={refused !== undefined || isBusy} onPress={onRunAgain}>
            Run again
          </Button>
        </div>
      ) : null}
      {actions.length === 0 ? null : (
        <div className="actions" role="group" aria-label="What may follow">
          {actions.map((action) => (
            <ActionButton
              key={action.id}
              action={isExpired ? { ...action, title: `${action.title} (expired)` } : action}
              isDisabled={isExpired || refused !== undefined || isBusy}
              isBusy={underWay?.what === action.title}
              onAct={(inputs) => onAct(action, inputs)}
            />
          ))}
        </div>
      )}
      {(['stdout', 'stderr'] as const).map((name) =>
        run[name] === '' ? null : (
          <details key={name} open={run.status === 'failed'}>
            <summary>
              {name} <span className="quiet">{run[name].split('\n').length} lines</span>
            </summary>
            <BoundedText label={name} text={run[name]} file={`${run.run_id}-${name}.txt`} />
          </details>
        ),
      )}
    </article>
  );
}
