import { useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { call } from '../api/client.ts';
import { Checkpoints } from '../checkpoints/checkpoints.tsx';
import { ForkPages } from '../checkpoints/fork-pages.tsx';
import { Files } from '../files/files.tsx';
import { Inbox } from '../inbox/inbox.tsx';
import { PageRightsContext, rightsIn } from '../live/page-rights.ts';
import { useIsOnlyUser } from '../live/person.ts';
import { useAnswer } from '../live/use-live.ts';
import { NetworkView } from '../network/network-view.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';
import { Button, Missing, PageHead, Pending, Problem, State } from '../parts/elements.tsx';
import { Previews } from '../previews/previews.tsx';
import { portChanges } from '../previews/use-doctor.ts';
import { ConnectAgent, hasToken } from '../runs/connect-agent.tsx';
import { RunDetails } from '../runs/run-details.tsx';
import { runName } from '../runs/run-name.ts';
import { ShareRun, Viewers } from '../runs/share-run.tsx';
import { Timeline } from '../runs/timeline.tsx';
import { useRunEvents } from '../runs/use-run-events.ts';
import { Started } from '../sandboxes/started.tsx';
import { TerminalPane } from '../sandboxes/terminals.tsx';
import { Away, Workspace } from '../workspace/workspace.tsx';
import '../sandboxes/sandboxes.css';

/** One run: its previews, and around them its sandbox, its comments and its live timeline. */
export function RunPage({ id }: { readonly id: string }) {
  const { events, last, live } = useRunEvents(id);
  const ports = portChanges(events);
  const [connecting, setConnecting] = useState(false);
  /** Its pages load again: they may show the files of before. */
  const [restores, setRestores] = useState(0);
  const onRestored = () => setRestores((count) => count + 1);
  const isOnlyUser = useIsOnlyUser();
  const {
    value: run,
    problem,
    missing,
    reload,
  } = useAnswer('GET /api/runs/{id}', { path: { id } }, 10_000, last);
  const sandboxId = run?.sandbox_id;
  const {
    value: sandbox,
    missing: gone,
    reload: lookAgain,
  } = useAnswer(
    'GET /v1/sandbox/{id}',
    sandboxId === undefined ? null : { path: { id: sandboxId } },
    10_000,
    last,
  );
  if (run === undefined) {
    if (missing) return <Missing what="run" />;
    return <Pending words={problem} onRetry={reload} />;
  }
  const rights = rightsIn('run', run.access, plainText(run.owner, 200));
  const sandboxState = gone ? 'deleted' : sandbox?.state;
  const isRunning = sandboxState === 'running';
  const away = <Away sandboxId={run.sandbox_id} state={sandboxState} />;
  const isAway = run.status === 'running' && sandboxState !== undefined && !isRunning;
  const status = !live ? 'connecting…' : isAway ? `sandbox ${sandboxState}` : run.status;
  const may = (run.access === 'owner' ? run.sharing : run.access) === 'work' ? 'work in it' : 'view it';
  return (
    <>
      <Problem words={problem} onRetry={reload} />
      <PageHead
        parent={['/', 'Runs']}
        title={runName(id, run.title)}
        facts={
          <>
            {/* The preview below shows its own state: that of the run shows if it is another. */}
            <span role="status">
              {status === 'running' ? <span className="hidden">{status}</span> : <State value={status} />}
            </span>
            {run.access !== 'owner' ? (
              <span>
                {run.owner} lets you {may}
              </span>
            ) : run.sharing === 'private' ? null : (
              <span className="wide">Your organisation can {may}</span>
            )}
            {run.sharing === 'private' ? null : <Viewers runId={id} />}
          </>
        }
      >
        {run.access === 'owner' ? (
          <div className="actions">
            {isOnlyUser ? null : <ShareRun runId={id} sharing={run.sharing} onChange={reload} />}
            {run.status !== 'running' || connecting || hasToken(id) ? null : (
              <Button onPress={() => setConnecting(true)}>Connect your agent</Button>
            )}
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
        ) : null}
      </PageHead>
      {run.status === 'running' && (connecting || hasToken(id)) ? (
        <ConnectAgent key={id} runId={id} events={events} />
      ) : null}
      <PageRightsContext value={rights}>
        <Workspace
          main="preview"
          counts={{ timeline: events.length }}
          panes={{
            preview: (
              <ForkPages sandboxId={run.sandbox_id} onKept={onRestored}>
                <Previews key={restores} run={run} seen={last} ports={ports} events={events} />
              </ForkPages>
            ),
            terminal: isRunning ? (
              <TerminalPane sandboxId={run.sandbox_id} what="run" onOver={lookAgain} />
            ) : (
              away
            ),
            files: isRunning ? <Files sandboxId={run.sandbox_id} seen={ports.seen} /> : away,
            logs: isRunning ? <Started sandboxId={run.sandbox_id} seen={ports.seen} hasPreviews /> : away,
            network: gone ? (
              away
            ) : (
              <NetworkView
                sandboxId={run.sandbox_id}
                seen={events.findLast(({ type }) => type === 'network.requested')?.id ?? ''}
                isOwner={run.access === 'owner'}
              />
            ),
            inbox: (
              <Inbox
                runId={id}
                seen={last}
                isReadOnly={run.status !== 'running' || !rights.canWork}
                isOwner={run.access === 'owner'}
              />
            ),
            details: <RunDetails run={run} sandbox={sandbox} />,
            timeline: (
              <>
                <Checkpoints run={run} seen={last} events={events} onRestored={onRestored} />
                <Timeline runId={id} owner={run.owner} events={events} />
              </>
            ),
          }}
        />
      </PageRightsContext>
    </>
  );
}
