import { plainText } from '#core/shared/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Problem } from '../parts/feedback.tsx';
import { useAttempt } from '../parts/use-attempt.ts';
import { Ago } from './ago.tsx';

export interface StartedProps {
  readonly sandboxId: string;
  /** The last event of a server, a process or a port: after each, the lists may differ. */
  readonly seen: string;
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
export function Started({ sandboxId, seen }: StartedProps) {
  const path = { id: sandboxId };
  const { value: found, reload } = useAnswer('GET /v1/sandbox/{id}/servers', { path }, ASK_MS, seen);
  const { value: all } = useAnswer('GET /v1/sandbox/{id}/processes', { path }, ASK_MS, seen);
  const { busy, problem, attempt } = useAttempt();
  const servers = found?.servers ?? [];
  // A server's process is shown with its server.
  const processes = (all?.processes ?? []).filter(
    ({ state, started_by }) => state === 'running' && started_by.kind !== 'server',
  );
  // Also for sandboxes without a guest, which has this list.
  if (servers.length === 0 && processes.length === 0) return null;
  const change = (route: Change, name: string) =>
    void attempt(async () => {
      await call(route, { path: { ...path, name } });
      reload();
    });
  return (
    <section aria-labelledby="started">
      <h2 id="started">Servers and processes</h2>
      {problem === undefined ? null : <Problem words={problem} />}
      <table className="list">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">State</th>
            <th scope="col">Command</th>
            <th scope="col">Started</th>
            <th scope="col">
              <span className="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {servers.map(({ name, port, state, reason, argv, started_at: at }) => (
            <tr key={name}>
              <td>
                {name} {port === null ? null : <span className="quiet">:{port}</span>}
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
                  {ENDED.has(state) ? (
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
          ))}
          {processes.map(({ id, name, argv, started_at: at }) => (
            <tr key={id}>
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
              <td />
            </tr>
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
