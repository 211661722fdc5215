import { useState } from 'react';
import { Link } from 'wouter';
import { plainText } from '../../../base/plain-text.ts';
import { call } from '../api/client.ts';
import { Files } from '../files/files.tsx';
import { Inbox } from '../inbox/inbox.tsx';
import { PageRightsContext, rightsIn } from '../live/page-rights.ts';
import { useAnswer } from '../live/use-live.ts';
import { NetworkView } from '../network/network-view.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';
import { Ago, Button, Missing, PageHead, Pending, Problem, State } from '../parts/elements.tsx';
import { Previews } from '../previews/previews.tsx';
import { portChanges } from '../previews/use-doctor.ts';
import { ConnectAgent, hasToken } from '../runs/connect-agent.tsx';
import { ShareRun, Viewers } from '../runs/share-run.tsx';
import { Timeline } from '../runs/timeline.tsx';
import { useRunEvents } from '../runs/use-run-events.ts';
import { TerminalPane } from '../sandboxes/terminals.tsx';
import { Away, Workspace } from '../workspace/workspace.tsx';
import '../sandboxes/sandboxes.css';

const COLUMNS = {
  wide: [['preview'], ['files', 'terminal'], ['timeline', 'inbox', 'network']],
  laptop: [
    ['preview', 'terminal'],
    ['timeline', 'files', 'inbox', 'network'],
  ],
};

/** One run: its previews, the terminals and files of its sandbox, and its live timeline. */
export function RunPage({ id }: { readonly id: string }) {
  const { events, last, live } = useRunEvents(id);
  const ports = portChanges(events);
  const [connecting, setConnecting] = useState(false);
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
  const isRunning = !gone && sandbox?.state === 'running';
  const away = <Away sandboxId={run.sandbox_id} state={gone ? 'deleted' : sandbox?.state} />;
  return (
    <>
      <Problem words={problem} onRetry={reload} />
      <PageHead
        parent={['/', 'Runs']}
        title={plainText(run.title ?? '', 200) || 'Untitled run'}
        facts={
          <>
            <State value={run.status} />
            <span className={`live ${live ? 'on' : ''}`} role="status">
              {live ? 'Live' : 'Reconnecting…'}
            </span>
            <span className="id" title={run.run_id}>
              {run.run_id}
            </span>
            <span>
              Sandbox{' '}
              <Link
                href={`/sandboxes/${encodeURIComponent(run.sandbox_id)}`}
                className="id"
                title={run.sandbox_id}
              >
                {run.sandbox_id}
              </Link>{' '}
              {sandbox !== undefined || gone ? <State value={sandbox?.state ?? 'deleted'} /> : null}
            </span>
            <span>
              {run.completed_at === null ? 'Started' : 'Completed'}{' '}
              <Ago at={run.completed_at ?? run.created_at} />
            </span>
            {run.access === 'owner' ? null : (
              <span>
                {run.owner} lets you {run.access === 'work' ? 'work in it' : 'view it'}
              </span>
            )}
            {run.sharing === 'private' ? null : <Viewers runId={id} />}
            {run.auto_approve_tools ? <span>Its previews open without a question</span> : null}
          </>
        }
      >
        {run.access === 'owner' ? (
          <div className="actions">
            <ShareRun runId={id} sharing={run.sharing} onChange={reload} />
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
          kind="run"
          columns={COLUMNS}
          panes={{
            preview: <Previews run={run} seen={last} ports={ports} events={events} />,
            terminal: isRunning ? (
              <TerminalPane
                sandboxId={run.sandbox_id}
                seen={ports.seen}
                hasPreviews
                what="run"
                onOver={lookAgain}
              />
            ) : (
              away
            ),
            files: isRunning ? <Files sandboxId={run.sandbox_id} seen={ports.seen} /> : away,
            network: gone ? (
              away
            ) : (
              <NetworkView
                sandboxId={run.sandbox_id}
                seen={events.findLast(({ type }) => type === 'network.requested')?.id ?? ''}
                isOwner={run.access === 'owner'}
              />
            ),
            timeline: <Timeline runId={id} owner={run.owner} events={events} />,
            inbox: (
              <Inbox
                runId={id}
                seen={last}
                isReadOnly={run.status !== 'running' || !rights.canWork}
                isOwner={run.access === 'owner'}
              />
            ),
          }}
        />
      </PageRightsContext>
    </>
  );
}
