import { useState } from 'react';
import { type Answer, call } from '../api/client.ts';
import { problemOf, useAnswer } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Empty, Problem } from '../parts/feedback.tsx';
import { TextInput } from '../parts/text-input.tsx';
import { LivePreview } from './live-preview.tsx';

export interface PreviewsProps {
  readonly run: Answer<'GET /api/runs/{id}'>;
  /** The last event of the run that was told: after each, the previews may be others. */
  readonly seen: string;
}

/** The live previews of a run, and what else could be one. */
export function Previews({ run, seen }: PreviewsProps) {
  const { value, problem, reload } = useAnswer(
    'GET /api/runs/{id}/sandbox/port-forward',
    { path: { id: run.run_id } },
    10_000,
    seen,
  );
  const live = value ?? [];
  return (
    <section aria-labelledby="previews">
      <div className="section-head">
        <h2 id="previews">Previews</h2>
      </div>
      {problem === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {live.map((preview) => (
        <LivePreview key={preview.session_id} runId={run.run_id} preview={preview} onEnd={reload} />
      ))}
      {run.status === 'running' ? (
        <StartPreview runId={run.run_id} open={live.map((each) => each.target_port)} onStarted={reload} />
      ) : live.length === 0 ? (
        <Empty title="This run has no live preview" />
      ) : null}
    </section>
  );
}

interface StartProps {
  readonly runId: string;
  readonly open: readonly number[];
  readonly onStarted: () => void;
}

/** Ports that listen now, each one a press away from its preview; and any other by its number. */
function StartPreview({ runId, open, onStarted }: StartProps) {
  const { value: found } = useAnswer('GET /api/runs/{id}/sandbox/doctor', { path: { id: runId } }, 8_000);
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState<number>();
  const start = async (port: number) => {
    setBusy(port);
    setProblem(undefined);
    try {
      await call('POST /api/runs/{id}/sandbox/port-forward', {
        path: { id: runId },
        body: { target_port: port },
      });
      onStarted();
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(undefined);
    }
  };
  const [min, max] = [found?.allowed_port_min ?? 1, found?.allowed_port_max ?? 65_535];
  const ports = (found?.ports ?? []).filter(({ port }) => !open.includes(port) && port >= min && port <= max);
  return (
    <div className="start-preview">
      <h3>Start a preview</h3>
      {ports.length === 0 ? (
        <p className="quiet">
          {found === undefined
            ? 'Looking at what listens in the sandbox…'
            : found.ports.length > 0
              ? 'Every server that listens here and may be shown has its preview.'
              : found.advice}
        </p>
      ) : (
        <ul className="ports">
          {ports.map(({ port, http, listener, framework, advice, ready }) => (
            <li key={port}>
              <Button
                variant={ready ? 'primary' : 'normal'}
                isDisabled={busy !== undefined}
                onPress={() => void start(port)}
                aria-label={`Start a preview of port ${port}`}
              >
                {busy === port ? 'Starting…' : `:${port}`}
              </Button>
              <span>
                {framework ?? http.title ?? listener?.process?.command ?? 'A server'}
                <span className="quiet">{advice}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
      <form
        className="inline"
        onSubmit={(event) => {
          event.preventDefault();
          void start(Number(new FormData(event.currentTarget).get('port')));
        }}
      >
        <TextInput
          label="Another port"
          name="port"
          inputMode="numeric"
          pattern="\d{1,5}"
          isRequired
          placeholder={`${min}–${max}`}
        />
        <Button type="submit" isDisabled={busy !== undefined}>
          Start
        </Button>
      </form>
      {problem === undefined ? null : <Problem words={problem} />}
    </div>
  );
}
