import { useRef, useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { Button, Problem, TextInput } from '../parts/elements.tsx';
import { useAttempt } from '../live/use-live.ts';
import { ResumeButton } from './resume-button.tsx';

export interface StartPreviewProps {
  readonly run: Answer<'GET /api/runs/{id}'>;
  /** Ports that already have a preview. */
  readonly open: readonly number[];
  /** What listens in the sandbox; undefined: not known yet, and `unseen` may say why. */
  readonly found: Answer<'GET /api/runs/{id}/sandbox/doctor'> | undefined;
  readonly unseen: string | undefined;
  readonly onStarted: (port: number, answer: Started) => void;
}

export type Started = Answer<'POST /api/runs/{id}/sandbox/port-forward'>;

/** Listening ports, each with a button that opens its preview, and a field for any other port. */
export function StartPreview({ run, open, found, unseen, onStarted }: StartPreviewProps) {
  const { busy, problem, setProblem, attempt } = useAttempt();
  const [last, setLast] = useState<number>();
  const form = useRef<HTMLFormElement>(null);
  const start = (port: number) => {
    setLast(port);
    void attempt(async () => {
      const started = await call('POST /api/runs/{id}/sandbox/port-forward', {
        path: { id: run.run_id },
        body: { target_port: port },
      });
      form.current?.reset();
      onStarted(port, started);
    });
  };
  const [min, max] = [found?.allowed_port_min ?? 1, found?.allowed_port_max ?? 65_535];
  const ports = (found?.ports ?? []).filter(({ port }) => !open.includes(port) && port >= min && port <= max);
  return (
    <div className="start-preview">
      <h3>Start a preview</h3>
      {ports.length === 0 ? (
        <p className="quiet">
          {found === undefined
            ? (unseen ?? 'Looking at what listens in the sandbox…')
            : found.sandbox === 'stopped'
              ? 'The sandbox is stopped. Resume it, and start a server in it.'
              : found.ports.length > 0
                ? 'All running servers already have a preview.'
                : found.advice}
        </p>
      ) : (
        <ul className="ports">
          {ports.map(({ port, http, listener, framework, advice, ready }) => (
            <li key={port}>
              <Button
                variant={ready ? 'primary' : 'normal'}
                isDisabled={busy}
                onPress={() => start(port)}
                aria-label={`Start a preview of port ${port}`}
              >
                {busy && last === port ? 'Starting…' : `:${port}`}
              </Button>
              <span>
                <bdi>
                  {framework ?? plainText(http.title ?? listener?.process?.command ?? 'A server', 80)}
                </bdi>
                <span className="quiet">{plainText(advice, 300)}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
      {found?.sandbox === 'stopped' ? (
        <p>
          <ResumeButton sandboxId={run.sandbox_id} />
        </p>
      ) : null}
      <form
        ref={form}
        className="inline"
        onSubmit={(event) => {
          event.preventDefault();
          start(Number(new FormData(event.currentTarget).get('port')));
        }}
      >
        <TextInput
          label="Another port"
          name="port"
          inputMode="numeric"
          isRequired
          validate={(value) =>
            value === '' || (/^\d{1,5}$/.test(value) && Number(value) >= min && Number(value) <= max)
              ? null
              : `A port is a number from ${min} to ${max}.`
          }
          onChange={() => setProblem(undefined)}
          placeholder={`${min}–${max}`}
        />
        <Button type="submit" isDisabled={busy}>
          Start
        </Button>
      </form>
      <Problem words={problem} {...(last === undefined ? {} : { onRetry: () => start(last) })} />
    </div>
  );
}

/** The last output of a declared server that failed. */
export function FailedServer({ server, log }: Pick<Started, 'server' | 'log'>) {
  return (
    <div className="reason" role="status">
      <p>Server {server} failed. It printed last:</p>
      <pre dir="ltr">{(log ?? []).map((line) => plainText(line, 300)).join('\n')}</pre>
    </div>
  );
}
