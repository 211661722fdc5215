import { useState } from 'react';
import { useLocation } from 'wouter';
import { plainText } from '../../../base/plain-text.ts';
import { addressOf } from '../api/client.ts';
import { Files } from '../files/files.tsx';
import { PageRightsContext, rightsIn } from '../live/page-rights.ts';
import { useAnswer, useEvents } from '../live/use-live.ts';
import { NetworkView } from '../network/network-view.tsx';
import { Missing, PageHead, Pending, Problem, State } from '../parts/elements.tsx';
import { SandboxActions } from '../sandboxes/sandbox-actions.tsx';
import { SandboxDetails } from '../sandboxes/sandbox-details.tsx';
import { sandboxName } from '../sandboxes/sandbox-name.ts';
import { Started } from '../sandboxes/started.tsx';
import { TerminalPane } from '../sandboxes/terminals.tsx';
import { Away, Workspace } from '../workspace/workspace.tsx';
import '../sandboxes/sandboxes.css';

const CHANGES_FILES: ReadonlySet<string> = new Set(['file_written', 'file_deleted', 'exec']);

const CHANGES_STARTED: ReadonlySet<string> = new Set([
  'server',
  'process_started',
  'process_exited',
  'port_listening',
]);

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
  if (sandbox === undefined) return <Pending words={problem} onRetry={reload} />;
  const { access } = sandbox;
  const owner = plainText(sandbox.owner, 200);
  const rights = rightsIn('sandbox', access, owner);
  const runs = sandbox.state === 'running';
  const away = <Away sandboxId={sandbox.id} state={sandbox.state} />;
  return (
    <>
      <PageHead
        parent={['/sandboxes', 'Sandboxes']}
        title={sandboxName(sandbox)}
        facts={
          <>
            <State value={sandbox.state} />
            {access === 'owner' ? null : (
              <span>
                {owner} lets you {access === 'work' ? 'work in it' : 'view it'}
              </span>
            )}
          </>
        }
      >
        <SandboxActions
          sandbox={sandbox}
          access={access}
          onChange={reload}
          onDeleted={() => navigate('/sandboxes')}
        />
      </PageHead>
      <Problem words={problem} onRetry={reload} />
      <PageRightsContext value={rights}>
        <Workspace
          main="terminal"
          first="files"
          panes={{
            terminal: runs ? <TerminalPane sandboxId={sandbox.id} what="sandbox" onOver={reload} /> : away,
            files: runs ? <Files sandboxId={sandbox.id} seen={seen} /> : away,
            logs: runs ? <Started sandboxId={sandbox.id} seen={started} /> : away,
            network: <NetworkView sandboxId={sandbox.id} seen={tried} isOwner={access === 'owner'} />,
            details: <SandboxDetails sandbox={sandbox} onChange={reload} />,
          }}
        />
      </PageRightsContext>
    </>
  );
}
