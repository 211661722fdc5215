import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { plainText } from '#core/shared/plain-text.ts';
import { addressOf } from '../api/client.ts';
import { formatMebibytes } from '../live/clock.ts';
import { PageRightsContext, rightsIn } from '../live/page-rights.ts';
import { useAnswer, useEvents } from '../live/use-live.ts';
import { Empty, Loading, Missing, Problem, State } from '../parts/feedback.tsx';
import { Files } from '../files/files.tsx';
import { NetworkView } from '../network/network-view.tsx';
import { SandboxActions } from '../sandboxes/sandbox-actions.tsx';
import { SandboxDetails } from '../sandboxes/sandbox-details.tsx';
import { Started } from '../sandboxes/started.tsx';
import '../sandboxes/sandboxes.css';
import { Terminals } from '../sandboxes/terminals.tsx';
import { networkWords } from '../sandboxes/network-words.ts';
import { Away, Workspace } from '../workspace/workspace.tsx';

const CHANGES_FILES: ReadonlySet<string> = new Set(['file_written', 'file_deleted', 'exec']);

const CHANGES_STARTED: ReadonlySet<string> = new Set([
  'server',
  'process_started',
  'process_exited',
  'port_listening',
]);

const COLUMNS = {
  wide: [['terminal'], ['files'], ['details', 'network']],
  laptop: [['terminal'], ['files', 'details', 'network']],
};

/** One sandbox: its terminals, its files and its settings. */
export function SandboxPage({ id }: { readonly id: string }) {
  const [, navigate] = useLocation();
  const [seen, setSeen] = useState('');
  const [started, setStarted] = useState('');
  const [tried, setTried] = useState('');
  useEvents(addressOf('GET /v1/sandbox/{id}/events', { id }), ({ id: event, data }) => {
    const { type } = JSON.parse(data) as { type: string };
    if (type === 'stopped' || type === 'resumed') reload();
    else if (type === 'network') setTried(event);
    else if (CHANGES_FILES.has(type)) setSeen(event);
    else if (CHANGES_STARTED.has(type)) setStarted(event);
  });
  const {
    value: sandbox,
    problem,
    missing,
    reload,
  } = useAnswer('GET /v1/sandbox/{id}', { path: { id } }, 5_000);
  // Also if it existed a moment ago.
  if (missing) return <Missing what="sandbox" />;
  if (sandbox === undefined) {
    return problem === undefined ? <Loading /> : <Problem words={problem} onRetry={reload} />;
  }
  const { resources, access } = sandbox;
  const owner = plainText(sandbox.owner, 200);
  const rights = rightsIn('sandbox', access, owner);
  const runs = sandbox.state === 'running';
  const away = <Away sandboxId={sandbox.id} state={sandbox.state} />;
  return (
    <>
      <div className="page-head">
        <div>
          <p className="crumb">
            <Link href="/sandboxes">Sandboxes</Link>
          </p>
          <h1>{sandbox.name ?? sandbox.session_key ?? 'Sandbox'}</h1>
          <p className="facts">
            <State value={sandbox.state} />
            <span className="id">{sandbox.id}</span>
            <span>{sandbox.image ?? 'default image'}</span>
            {resources.cpu === null ? null : <span>{resources.cpu} CPU</span>}
            {resources.memory_mb === null ? null : <span>{formatMebibytes(resources.memory_mb)}</span>}
            <span>{networkWords(sandbox)}</span>
            {access === 'owner' ? null : (
              <span>
                {owner} lets you {access === 'work' ? 'work in it' : 'view it'}
              </span>
            )}
          </p>
        </div>
        <SandboxActions
          sandbox={sandbox}
          access={access}
          onChange={reload}
          onDeleted={() => navigate('/sandboxes')}
        />
      </div>
      {problem === undefined ? null : <Problem words={problem} onRetry={reload} />}
      <PageRightsContext value={rights}>
        <Workspace
          kind="sandbox"
          columns={COLUMNS}
          panes={[
            {
              id: 'terminal',
              name: 'Terminal',
              content: runs ? (
                <>
                  <Started sandboxId={sandbox.id} seen={started} />
                  {rights.canWork ? (
                    <Terminals sandboxId={sandbox.id} onOver={reload} />
                  ) : (
                    <Empty title="Terminals are for those who may work in this sandbox">
                      <p>{rights.why}</p>
                    </Empty>
                  )}
                </>
              ) : (
                away
              ),
            },
            {
              id: 'files',
              name: 'Files',
              content: runs ? <Files sandboxId={sandbox.id} seen={seen} /> : away,
            },
            {
              id: 'network',
              name: 'Network',
              content: <NetworkView sandboxId={sandbox.id} seen={tried} isOwner={access === 'owner'} />,
            },
            {
              id: 'details',
              name: 'Details',
              content: <SandboxDetails sandbox={sandbox} onChange={reload} />,
            },
          ]}
        />
      </PageRightsContext>
    </>
  );
}
