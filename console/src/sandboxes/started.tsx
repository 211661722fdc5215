import { Fragment, useState } from 'react';
import { ToggleButton } from 'react-aria-components';
import { plainText } from '#core/shared/plain-text.ts';
import { addressOf, type Answer, call } from '../api/client.ts';
import { usePageRights } from '../live/page-rights.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Problem } from '../parts/feedback.tsx';
import { useAttempt } from '../parts/use-attempt.ts';
import { Ago } from './ago.tsx';
import { LogView } from './log-view.tsx';
import { usePlace } from './use-place.ts';
import { TableHead } from '../lists/table-head.tsx';

export interface StartedProps {
  readonly sandboxId: string;
  /** The last event of a server, a process or a port: after each, the lists may differ. */
  readonly seen: string;
  /** The page shows previews: a port leads to its own. */
  readonly hasPreviews?: boolean;
}

/** Poll interval in milliseconds, if no event reports changes. */
const ASK_MS = 20_000;

type Server = Answer<'GET /v1/sandbox/{id}/servers'>['servers'][number];

const TONES: Readonly<Record<Server['state'], string>> = {
  ready: 'good',
  starting: 'busy',
  waiting: 'busy',
  failed: 'bad',
  exited: 'off',
  stopped: 'off',
};

/** The declared servers of a sandbox, and its running processes. */
export function Started({ sandboxId, seen, hasPreviews = false }: StartedProps) {
  const path = { id: sandboxId };
  const { value: found, reload } = useAnswer('GET /v1/sandbox/{id}/servers', { path }, ASK_MS, seen);
  const { value: all, reload: reloadAll } = useAnswer(
    'GET /v1/sandbox/{id}/processes',
    { path },
    ASK_MS,
    seen,
  );
  const { busy, problem, attempt, retry } = useAttempt();
  const { canWork } = usePageRights();
  /** The row with an open log: `server <name>` or `process <id>`. */
  const [log, setLog] = useState<string>();
  const [, go] = usePlace();
  const servers = found?.servers ?? [];
  // A server's process is shown with its server.
  const processes = (all?.processes ?? []).filter(
    ({ state, started_by }) => state === 'running' && started_by.kind !== 'server',
  );
  // Also for sandboxes without a guest, which has this list.
  if (servers.length === 0 && processes.length === 0) return null;
  const logButton = (key: string, name: string) => (
    <ToggleButton
      className="button"
      aria-label={`Log of ${name}`}
      isSelected={log === key}
      onChange={(isOpen) => setLog(isOpen ? key : undefined)}
    >
      Log
    </ToggleButton>
  );
  const logRow = (key: string, name: string, address: string, goesOn: boolean) =>
    log === key ? (
      <tr>
        <td colSpan={5} className="log-cell">
          <LogView label={`Output of ${name}`} address={address} goesOn={goesOn} />
        </td>
      </tr>
    ) : null;
  const end = (pid: string) =>
    void attempt(async () => {
      await call('POST /v1/sandbox/{id}/processes/{pid}/signal', {
        path: { ...path, pid },
        body: { signal: 'SIGTERM' },
      });
      reloadAll();
    });
  const change = (route: Change, name: string) =>
    void attempt(async () => {
      await call(route, { path: { ...path, name } });
      reload();
    });
  return (
    <section className="started" aria-labelledby="started">
      <h2 id="started">Servers and processes</h2>
      {problem === undefined ? null : <Problem words={problem} onRetry={retry} />}
      <table className="list">
        <TableHead columns={['Name', 'State', 'Command', 'Started']} actions />
        <tbody>
          {servers.map(({ name, port, state, reason, argv, started_at: at }) => (
            <Fragment key={name}>
              <tr>
                <td>
                  {name}{' '}
                  {port === null ? null : hasPreviews ? (
                    <Button
                      variant="plain"
                      aria-label={`Preview of port ${port}`}
                      onPress={() => go({ port: String(port) })}
                    >
                      :{port}
                    </Button>
                  ) : (
                    <span className="quiet">:{port}</span>
                  )}
                </td>
                <td>
                  <span className={`state ${TONES[state]}`} title={plainText(reason ?? '', 300)}>
                    {state}
                  </span>
                </td>
                <td>
                  <CommandText argv={argv} />
                </td>
                <td>{at === null ? '–' : <Ago at={at} />}</td>
                <td>
                  <div className="tools">
                    {logButton(`server ${name}`, name)}
                    {!canWork ? null : ENDED.has(state) ? (
                      <Button
                        isDisabled={busy}
                        aria-label={`Start ${name}`}
                        onPress={() => change('POST /v1/sandbox/{id}/servers/{name}/start', name)}
                      >
                        Start
                      </Button>
                    ) : (
                      <>
                        <Button
                          isDisabled={busy}
                          aria-label={`Restart ${name}`}
                          onPress={() => change('POST /v1/sandbox/{id}/servers/{name}/restart', name)}
                        >
                          Restart
                        </Button>
                        <Button
                          isDisabled={busy}
                          aria-label={`Stop ${name}`}
                          onPress={() => change('POST /v1/sandbox/{id}/servers/{name}/stop', name)}
                        >
                          Stop
                        </Button>
                      </>
                    )}
                  </div>
                </td>
              </tr>
              {logRow(
                `server ${name}`,
                name,
                addressOf(
                  'GET /v1/sandbox/{id}/servers/{name}/logs',
                  { ...path, name },
                  { follow: true, tail: 500 },
                ),
                true,
              )}
            </Fragment>
          ))}
          {processes.map(({ id, name, argv, started_at: at }) => (
            <Fragment key={id}>
              <tr>
                <td>{name ?? <span className="id">{id}</span>}</td>
                <td>
                  <span className="state good">running</span>
                </td>
                <td>
                  <CommandText argv={argv} />
                </td>
                <td>
                  <Ago at={at} />
                </td>
                <td>
                  <div className="tools">
                    {logButton(`process ${id}`, name ?? id)}
                    {canWork ? (
                      <Button isDisabled={busy} aria-label={`Stop ${name ?? id}`} onPress={() => end(id)}>
                        Stop
                      </Button>
                    ) : null}
                  </div>
                </td>
              </tr>
              {logRow(
                `process ${id}`,
                name ?? id,
                addressOf(
                  'GET /v1/sandbox/{id}/processes/{pid}/output',
                  { ...path, pid: id },
                  { follow: true },
                ),
                false,
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  );
}

type Change = `POST /v1/sandbox/{id}/servers/{name}/${'start' | 'stop' | 'restart'}`;

const ENDED: ReadonlySet<Server['state']> = new Set(['failed', 'exited', 'stopped']);

function CommandText({ argv }: { readonly argv: readonly string[] }) {
  return <code dir="ltr">{plainText(argv.join(' '), 120)}</code>;
}
