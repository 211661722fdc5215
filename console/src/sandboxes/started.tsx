import { type ReactNode, useState } from 'react';
import { ToggleButton } from 'react-aria-components';
import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { usePageRights } from '../live/page-rights.ts';
import { useAnswer, useAttempt } from '../live/use-live.ts';
import { Ago, Button, Empty, Pending, Problem, State } from '../parts/elements.tsx';
import { TableHead } from '../lists/table-head.tsx';
import { type Log, LogView, processLog, serverLog } from './log-view.tsx';
import { usePlace } from './use-place.ts';

interface StartedProps {
  readonly sandboxId: string;
  /** The last event of a server, a process or a port: after each, the lists may differ. */
  readonly seen: string;
  /** The page shows previews: a port leads to its own. */
  readonly hasPreviews?: boolean;
}

/** Poll interval in milliseconds, if no event reports changes. */
const ASK_MS = 20_000;

type Server = Answer<'GET /v1/sandbox/{id}/servers'>['servers'][number];
type Change = `POST /v1/sandbox/{id}/servers/{name}/${'start' | 'stop' | 'restart'}`;

const ENDED: ReadonlySet<Server['state']> = new Set(['failed', 'exited', 'stopped']);

/** The declared servers of a sandbox, and its running processes. */
export function Started({ sandboxId, seen, hasPreviews = false }: StartedProps) {
  const path = { id: sandboxId };
  const {
    value: found,
    problem: unread,
    reload,
  } = useAnswer('GET /v1/sandbox/{id}/servers', { path }, ASK_MS, seen);
  const { value: all, reload: reloadAll } = useAnswer(
    'GET /v1/sandbox/{id}/processes',
    { path },
    ASK_MS,
    seen,
  );
  const { busy, problem, attempt, retry } = useAttempt();
  const { canWork } = usePageRights();
  /** The log that is open, by its address: each takes a connection, of which browsers allow six. */
  const [chosen, setChosen] = useState<string | null>();
  const [, go] = usePlace();
  const servers = found?.servers ?? [];
  // A server's process is shown with its server.
  const processes = (all?.processes ?? []).filter(
    ({ state, started_by }) => state === 'running' && started_by.kind !== 'server',
  );
  const [first] = servers;
  const open =
    chosen === undefined && first !== undefined ? serverLog(sandboxId, first.name).address : chosen;
  if (found === undefined || all === undefined) return <Pending words={unread} onRetry={reload} />;
  if (servers.length === 0 && processes.length === 0) {
    return (
      <Empty title="No servers or processes">
        <p>
          Declared servers and processes that are started through the API are here, with their output. What a
          terminal or a shell script starts has no log here.
        </p>
      </Empty>
    );
  }
  const end = (pid: string) =>
    void attempt(async () => {
      await call('POST /v1/sandbox/{id}/processes/{pid}/signal', {
        path: { ...path, pid },
        body: { signal: 'SIGTERM' },
      });
      reloadAll();
    });
  const logOf = (log: Log) => ({
    log,
    isOpen: open === log.address,
    onOpen: (isOpen: boolean) => setChosen(isOpen ? log.address : null),
  });
  const button = (words: string, name: string, press: () => void) => (
    <Button isDisabled={busy} aria-label={`${words} ${name}`} onPress={press}>
      {words}
    </Button>
  );
  const change = (words: string, name: string, route: Change) =>
    button(
      words,
      name,
      () =>
        void attempt(async () => {
          await call(route, { path: { ...path, name } });
          reload();
        }),
    );
  return (
    <section className="started" aria-label="Servers and processes">
      <Problem words={problem} onRetry={retry} />
      <table className="list stacks">
        <TableHead columns={['Name', 'State', 'Command', 'Started']} actions />
        <tbody>
          {servers.map(({ name, port, state, reason, argv, started_at: at }) => (
            <StartedRow
              key={`server ${name}`}
              name={name}
              shown={
                <>
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
                </>
              }
              state={state}
              reason={reason}
              argv={argv}
              at={at}
              {...logOf(serverLog(sandboxId, name))}
            >
              {!canWork ? null : ENDED.has(state) ? (
                change('Start', name, 'POST /v1/sandbox/{id}/servers/{name}/start')
              ) : (
                <>
                  {change('Restart', name, 'POST /v1/sandbox/{id}/servers/{name}/restart')}
                  {change('Stop', name, 'POST /v1/sandbox/{id}/servers/{name}/stop')}
                </>
              )}
            </StartedRow>
          ))}
          {processes.map(({ id, name, argv, started_at: at }) => (
            <StartedRow
              key={`process ${id}`}
              name={name ?? id}
              shown={name ?? <span className="id">{id}</span>}
              state="running"
              reason={null}
              argv={argv}
              at={at}
              {...logOf(processLog(sandboxId, id))}
            >
              {canWork ? button('Stop', name ?? id, () => end(id)) : null}
            </StartedRow>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface StartedRowProps {
  readonly name: string;
  readonly shown: ReactNode;
  readonly state: string;
  /** Why it is in this state. */
  readonly reason: string | null;
  readonly argv: readonly string[];
  readonly at: string | null;
  readonly log: Log;
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
  /** What can be done with it. */
  readonly children: ReactNode;
}

function StartedRow({ name, shown, state, reason, argv, at, ...row }: StartedRowProps) {
  const { log, isOpen, onOpen, children } = row;
  return (
    <>
      <tr>
        <td>{shown}</td>
        <td>
          <State value={state} />
        </td>
        <td className="line">
          <code dir="ltr">{plainText(argv.join(' '), 120)}</code>
        </td>
        <td>{at === null ? '–' : <Ago at={at} />}</td>
        <td>
          <div className="tools">
            <ToggleButton
              className="button"
              aria-label={`Log of ${name}`}
              isSelected={isOpen}
              onChange={onOpen}
            >
              Log
            </ToggleButton>
            {children}
          </div>
        </td>
      </tr>
      {reason === null ? null : (
        <tr className="why">
          <td colSpan={5}>
            <span className="quiet">{plainText(reason, 300)}</span>
          </td>
        </tr>
      )}
      {isOpen ? (
        <tr>
          <td colSpan={5} className="log-cell">
            <LogView label={`Output of ${name}`} {...log} />
          </td>
        </tr>
      ) : null}
    </>
  );
}
