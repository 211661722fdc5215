import { useState } from 'react';
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components';
import { Link, useLocation } from 'wouter';
import { addressOf } from '../api/client.ts';
import { useAnswer, useEvents } from '../live/use-live.ts';
import { Loading, Missing, Problem, State } from '../parts/feedback.tsx';
import { Files } from '../files/files.tsx';
import { SandboxActions } from '../sandboxes/sandbox-actions.tsx';
import { SandboxDetails } from '../sandboxes/sandbox-details.tsx';
import { Started } from '../sandboxes/started.tsx';
import '../sandboxes/sandboxes.css';
import { Terminals } from '../sandboxes/terminals.tsx';
import { usePlace } from '../sandboxes/use-place.ts';
import { networkWords } from '../sandboxes/network-words.ts';

const CHANGES_FILES: ReadonlySet<string> = new Set(['file_written', 'file_deleted', 'exec']);

const CHANGES_STARTED: ReadonlySet<string> = new Set([
  'server',
  'process_started',
  'process_exited',
  'port_listening',
]);

/** One sandbox: its terminal and its files. */
export function SandboxPage({ id }: { readonly id: string }) {
  const [, navigate] = useLocation();
  const [place, go] = usePlace();
  const [seen, setSeen] = useState('');
  const [started, setStarted] = useState('');
  useEvents(addressOf('GET /v1/sandbox/{id}/events', { id }), ({ id: event, data }) => {
    const { type } = JSON.parse(data) as { type: string };
    if (type === 'stopped' || type === 'resumed') reload();
    else if (CHANGES_FILES.has(type)) setSeen(event);
    else if (CHANGES_STARTED.has(type)) setStarted(event);
  });
  const asked = place.get('tab');
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
  const { resources } = sandbox;
  const runs = sandbox.state === 'running';
  const tab = !runs || asked === 'details' ? 'details' : asked === 'files' ? 'files' : 'terminal';
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
            {resources.memory_mb === null ? null : <span>{resources.memory_mb.toLocaleString()} MiB</span>}
            <span>{networkWords(sandbox)}</span>
          </p>
        </div>
        <SandboxActions sandbox={sandbox} onChange={reload} onDeleted={() => navigate('/sandboxes')} />
      </div>
      {problem === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {runs ? null : (
        <p className="reason" role="status">
          {sandbox.state === 'stopped'
            ? 'It is stopped. Its files are kept: resume it to see them, and to work in it.'
            : `It is ${sandbox.state}.`}
        </p>
      )}
      <Tabs
        className="tabs"
        selectedKey={tab}
        onSelectionChange={(key) => go({ tab: key === 'terminal' ? undefined : String(key) })}
      >
        <TabList aria-label="Of this sandbox">
          <Tab id="terminal" isDisabled={!runs}>
            Terminal
          </Tab>
          <Tab id="files" isDisabled={!runs}>
            Files
          </Tab>
          <Tab id="details">Details</Tab>
        </TabList>
        <TabPanel id="terminal">
          <Terminals sandboxId={sandbox.id} onOver={reload} />
        </TabPanel>
        <TabPanel id="files">
          <Files sandboxId={sandbox.id} seen={seen} />
        </TabPanel>
        <TabPanel id="details">
          {runs ? <Started sandboxId={sandbox.id} seen={started} /> : null}
          <SandboxDetails sandbox={sandbox} onChange={reload} />
        </TabPanel>
      </Tabs>
    </>
  );
}
