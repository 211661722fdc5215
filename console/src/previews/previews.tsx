import { useState } from 'react';
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components';
import type { Answer } from '../api/client.ts';
import { usePageRights } from '../live/page-rights.ts';
import { useAnswer } from '../live/use-live.ts';
import { Empty, Icon, Pending, Problem } from '../parts/elements.tsx';
import type { RunEvent } from '../runs/event-labels.ts';
import { usePlace } from '../sandboxes/use-place.ts';
import { LivePreview } from './live-preview.tsx';
import './previews.css';
import { FailedServer, type Started, StartPreview } from './start-preview.tsx';
import { type PortChanges, useDoctor } from './use-doctor.ts';

export interface PreviewsProps {
  readonly run: Answer<'GET /api/runs/{id}'>;
  /** Last known event of the run: previews may change with each. */
  readonly seen: string;
  readonly ports: PortChanges;
  readonly events: readonly RunEvent[];
}

/** The tab in which a preview is started. */
const NEW = 'new';

/**
 * The live previews of a run, a tab for each port. A hidden tab stays mounted, so that its app is
 * as it was when it is shown again.
 */
export function Previews({ run, seen, ports, events }: PreviewsProps) {
  const { value, problem, reload } = useAnswer(
    'GET /api/runs/{id}/sandbox/port-forward',
    { path: { id: run.run_id } },
    10_000,
    seen,
  );
  const { canWork, why } = usePageRights();
  const canStart = run.status === 'running' && canWork;
  const doctor = useDoctor(run.run_id, ports);
  const [fresh, setFresh] = useState<number>();
  const [place, go] = usePlace();
  const [failed, setFailed] = useState<Started>();
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  const open = value.map((each) => each.target_port);
  const waiting = doctor.value?.ports.filter(({ port, ready }) => ready && !open.includes(port)).length ?? 0;
  const tabs = [...open.map(String), ...(canStart ? [NEW] : [])];
  const asked = place.get('port');
  // A port without a preview can be started.
  const current = asked === null ? tabs[0] : (tabs.find((each) => each === asked) ?? tabs.at(-1));
  const setChosen = (tab: string | undefined) => go({ port: tab });
  const start = canStart ? (
    <StartPreview
      run={run}
      open={open}
      found={doctor.value}
      unseen={doctor.problem}
      onStarted={(port, answer) => {
        setFailed(answer.reason === 'server_failed' ? answer : undefined);
        setFresh(port);
        setChosen(String(port));
        reload();
      }}
    />
  ) : null;
  return (
    <div className="previews">
      <Problem words={problem} onRetry={reload} />
      {value.length === 0 ? (
        (start ?? (
          <Empty title="This run has no live preview">
            <p>
              {run.status === 'running'
                ? `Previews that are started appear here. ${why}`
                : 'The run is completed, so no preview can be started.'}
            </p>
          </Empty>
        ))
      ) : (
        <Tabs
          className="tabs preview-tabs"
          selectedKey={current ?? NEW}
          onSelectionChange={(key) => setChosen(String(key))}
        >
          <TabList aria-label="Previews">
            {value.map(({ target_port: port }) => (
              <Tab key={port} id={String(port)}>
                :{port}
              </Tab>
            ))}
            {canStart ? (
              <Tab id={NEW} aria-label="New preview">
                <Icon name="plus" />
                {waiting === 0 ? null : <span className="count">{waiting}</span>}
              </Tab>
            ) : null}
          </TabList>
          {value.map((preview) => (
            <TabPanel key={preview.session_id} id={String(preview.target_port)} shouldForceMount>
              {failed?.target_port === preview.target_port ? <FailedServer {...failed} /> : null}
              <LivePreview
                run={run}
                preview={preview}
                ports={ports}
                events={events}
                fresh={preview.target_port === fresh}
                onEnd={() => {
                  document.getElementById('pane-preview')?.focus();
                  setFresh(undefined);
                  setChosen(undefined);
                  reload();
                }}
              />
            </TabPanel>
          ))}
          {canStart ? <TabPanel id={NEW}>{start}</TabPanel> : null}
        </Tabs>
      )}
    </div>
  );
}
