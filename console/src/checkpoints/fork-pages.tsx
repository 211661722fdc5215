import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { type Answer, call } from '../api/client.ts';
import { useAnswer } from '../live/use-live.ts';
import { DialogButton, FormDialog } from '../parts/dialog-form.tsx';
import { Button, Check, Choice, Empty, Icon, Pending } from '../parts/elements.tsx';
import { useKeepalive } from '../previews/live-preview.tsx';
import { PreviewFrame } from '../previews/preview-frame.tsx';
import './checkpoints.css';
import { CompareForks } from './compare-forks.tsx';
import { useForks } from './use-forks.ts';

interface ForkPagesProps {
  /** Of the original. */
  readonly sandboxId: string;
  /** The pages of the present. */
  readonly children: ReactNode;
  readonly onKept: () => void;
}

/**
 * The live pages of forks: one beside the present, or several in its place. Where it is narrow,
 * one page shows at a time. Hidden ones stay mounted, so that their apps are as they were.
 */
export function ForkPages({ sandboxId, children, onKept }: ForkPagesProps) {
  const { forks, remove, close } = useForks();
  const [asked, setAsked] = useState<string>();
  const shown = asked !== undefined && (asked === PRESENT || forks.includes(asked)) ? asked : forks[0];
  const keep = async (fork: string, endsOthers: boolean) => {
    await call('POST /v1/sandbox/{id}/keep', { path: { id: sandboxId }, body: { fork } });
    onKept();
    if (!endsOthers) return;
    for (const id of forks) await endFork((await call('GET /api/runs/{id}', { path: { id } })).sandbox_id);
    close();
  };
  const named = forks.map((runId, index) => ({ runId, name: `Fork ${index + 1}` }));
  return (
    <div className="fork-pages" data-forks={forks.length}>
      {forks.length === 0 ? null : (
        <div className="fork-tabs" role="group" aria-label="Pages">
          {[PRESENT, ...forks].map((id, index) => (
            <button
              key={id}
              type="button"
              className="button"
              aria-pressed={id === shown}
              onClick={() => setAsked(id)}
            >
              {id === PRESENT ? 'Present' : `Fork ${index}`}
            </button>
          ))}
        </div>
      )}
      <div
        className={forks.length > 0 && shown !== PRESENT ? 'fork-page present' : 'fork-page shown present'}
      >
        {children}
      </div>
      {named.map(({ runId, name }) => (
        <div key={runId} className={runId === shown ? 'fork-page shown' : 'fork-page'}>
          <ForkPage
            runId={runId}
            name={name}
            present={sandboxId}
            others={named.filter((each) => each.runId !== runId)}
            onKeep={keep}
            onClose={() => remove(runId)}
          />
        </div>
      ))}
    </div>
  );
}

const PRESENT = 'present';

function endFork(id: string): Promise<unknown> {
  return call('DELETE /v1/sandbox/{id}', { path: { id } });
}

interface ForkPageProps {
  readonly runId: string;
  readonly name: string;
  /** Id of the sandbox of the present. */
  readonly present: string;
  readonly others: readonly { readonly runId: string; readonly name: string }[];
  readonly onKeep: (sandboxId: string, endsOthers: boolean) => Promise<void>;
  /** It is no longer shown. */
  readonly onClose: () => void;
}

function ForkPage({ runId, name, present, others, onKeep, onClose }: ForkPageProps) {
  const path = { id: runId };
  const run = useAnswer('GET /api/runs/{id}', { path }, 10_000);
  const previews = useAnswer('GET /api/runs/{id}/sandbox/port-forward', { path }, 10_000);
  const [port, setPort] = useState('');
  const [loads, setLoads] = useState(0);
  const sandboxId = run.value?.sandbox_id;
  const open = previews.value ?? [];
  const preview = open.find(({ target_port: each }) => String(each) === port) ?? open[0];
  return (
    <section className="preview" aria-label={name}>
      <header>
        <strong>
          <Link href={`/runs/${runId}`} title="The page of its run">
            {name}
          </Link>
        </strong>
        <div className="tools">
          {open.length < 2 ? null : (
            <Choice
              label="Port"
              value={String(preview?.target_port)}
              onChange={setPort}
              options={open.map(({ target_port: each }) => ({ id: String(each), words: `:${each}` }))}
            />
          )}
          <Button className="icon-button" aria-label={`Reload ${name}`} onPress={() => setLoads(loads + 1)}>
            <Icon name="reload" />
          </Button>
          {sandboxId === undefined ? null : (
            <>
              <DialogButton
                className="picture-modal"
                trigger={<Button aria-label={`Compare ${name}`}>Compare</Button>}
              >
                {({ close }) => (
                  <CompareForks
                    sandboxId={present}
                    others={others}
                    fork={{ id: sandboxId, name }}
                    port={preview?.target_port}
                    onClose={close}
                  />
                )}
              </DialogButton>
              <FormDialog
                trigger={<Button aria-label={`Keep this one, ${name}`}>Keep this one</Button>}
                title={`Keep ${name}?`}
                action="Keep it"
                onSubmit={(form) => onKeep(sandboxId, form.has('end'))}
              >
                <p>
                  The files and servers of this run become those of {name}. Its previews keep their URLs. A
                  checkpoint of the present is made first, so you can go back.
                </p>
                <Check name="end" defaultSelected>
                  Delete all open forks then
                </Check>
              </FormDialog>
              <FormDialog
                trigger={
                  <Button variant="danger" aria-label={`End ${name}`}>
                    <Icon name="close" />
                  </Button>
                }
                title={`End ${name}?`}
                action="End it"
                danger
                onSubmit={async () => {
                  await endFork(sandboxId);
                  onClose();
                }}
              >
                <p>Its sandbox is deleted with its files. The run that it was made from goes on.</p>
              </FormDialog>
            </>
          )}
        </div>
      </header>
      {run.missing || run.value?.status === 'completed' ? (
        <Empty title="This fork has ended">
          <Button onPress={onClose}>Close</Button>
        </Empty>
      ) : preview !== undefined ? (
        <ForkFrame key={preview.session_id} runId={runId} preview={preview} load={String(loads)} />
      ) : previews.value === undefined ? (
        <Pending words={previews.problem} onRetry={previews.reload} />
      ) : (
        <Empty title="It has no live preview">
          <p>
            <Link href={`/runs/${runId}`}>Open its run</Link> and start one there.
          </p>
        </Empty>
      )}
    </section>
  );
}

interface ForkFrameProps {
  readonly runId: string;
  readonly preview: Answer<'GET /api/runs/{id}/sandbox/port-forward'>[number];
  readonly load: string;
}

function ForkFrame({ runId, preview, load }: ForkFrameProps) {
  useKeepalive(runId, preview);
  const { target_port: port, session_id: token, preview_url: url } = preview;
  if (url === null) return <p className="quiet">Previews have no URLs here, so its page cannot be shown.</p>;
  return <PreviewFrame port={port} token={token} address={url} load={load} device="fit" isRotated={false} />;
}
