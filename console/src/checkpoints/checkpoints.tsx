import { useId, useState } from 'react';
import { type Answer, call } from '../api/client.ts';
import { serverNow, timeAgo } from '../live/clock.ts';
import { usePageRights } from '../live/page-rights.ts';
import { useIsOn } from '../live/person.ts';
import { formatMoment, formatTimeOfDay } from '../live/time-format.ts';
import { useAnswer, useAttempt } from '../live/use-live.ts';
import { FormDialog } from '../parts/dialog-form.tsx';
import { Ago, Button, Choice, formText, Pending, Problem, TextInput } from '../parts/elements.tsx';
import { LookPicture } from '../previews/look-picture.tsx';
import type { RunEvent } from '../runs/event-labels.ts';
import { PHONE } from '../workspace/workspace.tsx';
import { ChangedFiles } from './changed-files.tsx';
import { type Checkpoint, checkpointName, nearestLook } from './checkpoint-labels.ts';
import './checkpoints.css';
import { useForks } from './use-forks.ts';

interface CheckpointsProps {
  readonly run: Answer<'GET /api/runs/{id}'>;
  /** Last known event of the run. */
  readonly seen: string;
  readonly events: readonly RunEvent[];
  /** The files and servers of the sandbox have been exchanged. */
  readonly onRestored: () => void;
}

/** The moments that a sandbox can go back to, by a slider, and what can be done with each. */
export function Checkpoints({ run, seen, events, onRestored }: CheckpointsProps) {
  const path = { id: run.sandbox_id };
  const { value, problem, missing, reload } = useAnswer(
    'GET /v1/sandbox/{id}/checkpoints',
    { path },
    10_000,
    seen,
  );
  const { canWork } = usePageRights();
  const [chosenId, choose] = useState<string>();
  const [doing, setDoing] = useState('');
  const { busy, problem: failed, attempt } = useAttempt();
  const { forks, add } = useForks();
  const [notes, setNotes] = useState('');
  if (missing) return null;
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  const { checkpoints } = value;
  // The last position of the slider is the present.
  const found = checkpoints.findIndex(({ id }) => id === chosenId);
  const at = found === -1 ? checkpoints.length : found;
  const chosen = checkpoints[at];
  const name = chosen === undefined ? 'the present' : `“${checkpointName(chosen)}”`;
  const perform = (words: string, work: () => Promise<void>) => {
    setNotes('');
    setDoing(words);
    void attempt(work);
  };
  const make = async (label?: string): Promise<string> => {
    const made = await call('POST /v1/sandbox/{id}/checkpoints', { path, body: { label: label || null } });
    reload();
    return made.id;
  };
  const fork = (count: number) => {
    const page = location.pathname;
    perform(`Making a checkpoint of ${name}…`, async () => {
      const checkpoint = chosen?.id ?? (await make('fork'));
      const pages = count === 1 ? 'a copy' : `${count} copies`;
      setDoing(`Making ${pages} of ${name}, starting servers and opening previews…`);
      const made = await call('POST /v1/sandbox/{id}/checkpoints/{checkpoint}/fork', {
        path: { ...path, checkpoint },
        body: { count, previews: true },
      });
      const problems = made.errors.map(({ error }) => error).join(' ');
      setNotes(problems);
      const runs = made.sandboxes.flatMap((each) => (each.run === null ? [] : [each.run]));
      // The user has left: the list of runs has the forks.
      if (location.pathname !== page) return;
      add(runs, problems === '' && (count > 1 || PHONE.matches));
    });
  };
  const restore = ({ id }: Checkpoint) =>
    perform(`Making a checkpoint of the present, then restoring ${name}…`, async () => {
      const { before } = await call('POST /v1/sandbox/{id}/checkpoints/{checkpoint}/restore', {
        path: { ...path, checkpoint: id },
        body: {},
      });
      setNotes(`Restored ${name}. To go back, restore the checkpoint of ${formatMoment(before.created_at)}.`);
      choose(undefined);
      reload();
      onRestored();
    });
  const isOwner = run.access === 'owner';
  return (
    <section className="checkpoints stack" aria-label="Checkpoints">
      <div className="section-head">
        <h3>Checkpoints</h3>
        {canWork ? (
          <FormDialog
            trigger={<Button>Make a checkpoint</Button>}
            title="Make a checkpoint"
            action="Make it"
            onSubmit={async (form) => choose(await make(formText(form, 'label')))}
          >
            <TextInput label="Label" name="label" maxLength={200} hint="What is it before or after?" />
          </FormDialog>
        ) : null}
      </div>
      <Problem words={problem} onRetry={reload} />
      {checkpoints.length === 0 ? (
        <p className="quiet">None yet. A checkpoint keeps the files and servers, so that you can go back.</p>
      ) : (
        <Moments checkpoints={checkpoints} at={at} onMove={(next) => choose(checkpoints[next]?.id)} />
      )}
      {!canWork ? null : (
        <div className="actions">
          {!isOwner ? null : forks.length > 0 ? (
            <span className="quiet">End the open forks to open others.</span>
          ) : (
            <>
              {chosen === undefined ? null : (
                <Button isDisabled={busy} onPress={() => fork(1)}>
                  Open this moment
                </Button>
              )}
              <Button isDisabled={busy} onPress={() => fork(3)}>
                Try three ways
              </Button>
            </>
          )}
          {chosen === undefined ? null : (
            <Button isDisabled={busy} onPress={() => restore(chosen)}>
              Restore
            </Button>
          )}
        </div>
      )}
      <p className="quiet" role="status">
        {busy ? doing : notes}
      </p>
      <Problem words={failed} />
      {chosen === undefined ? null : (
        <Moment key={chosen.id} run={run} checkpoint={chosen} all={checkpoints} events={events} />
      )}
    </section>
  );
}

interface MomentsProps {
  readonly checkpoints: readonly Checkpoint[];
  /** Position; that after the last checkpoint is the present. */
  readonly at: number;
  readonly onMove: (at: number) => void;
}

function Moments({ checkpoints, at, onMove }: MomentsProps) {
  const marks = useId();
  const chosen = checkpoints[at];
  const words =
    chosen === undefined
      ? 'The present'
      : `${checkpointName(chosen)}, ${timeAgo(serverNow() - Date.parse(chosen.created_at))}`;
  return (
    <label>
      <span className="section-head">
        <strong>{chosen === undefined ? 'The present' : checkpointName(chosen)}</strong>
        <span className="quiet">
          {chosen === undefined ? (
            `after ${checkpoints.length}`
          ) : (
            <>
              {at + 1} of {checkpoints.length}, <Ago at={chosen.created_at} />
            </>
          )}
        </span>
      </span>
      <input
        type="range"
        aria-label="Moment"
        aria-valuetext={words}
        list={marks}
        min={0}
        max={checkpoints.length}
        value={at}
        onChange={({ currentTarget }) => onMove(currentTarget.valueAsNumber)}
      />
      <datalist id={marks}>
        {checkpoints.map((each, index) => (
          <option key={each.id} value={index} label={checkpointName(each)} />
        ))}
      </datalist>
    </label>
  );
}

interface MomentProps {
  readonly run: Answer<'GET /api/runs/{id}'>;
  readonly checkpoint: Checkpoint;
  readonly all: readonly Checkpoint[];
  readonly events: readonly RunEvent[];
}

/** What a checkpoint has: its servers, the page at that time, and the files that differ. */
function Moment({ run, checkpoint, all, events }: MomentProps) {
  const [since, setSince] = useState(checkpoint.parent ?? '');
  const isOn = useIsOn();
  const picture = (of: Checkpoint) => {
    const look = isOn('pages') ? nearestLook(events, of) : undefined;
    if (look === undefined) return null;
    return (
      <figure>
        <LookPicture runId={run.run_id} look={String(look.data['look'])} />
        <figcaption className="quiet">
          {checkpointName(of)}: page at {formatTimeOfDay(look.at)}
        </figcaption>
      </figure>
    );
  };
  const others = all.filter(({ id }) => id !== checkpoint.id);
  const other = others.find(({ id }) => id === since);
  const servers = checkpoint.servers.map(({ name, port }) => (port === null ? name : `${name} :${port}`));
  return (
    <>
      <div className="moment-pictures">
        {other === undefined || other.id === checkpoint.parent ? null : picture(other)}
        {picture(checkpoint)}
      </div>
      <p>{servers.length === 0 ? 'No declared servers' : `Servers: ${servers.join(', ')}`}</p>
      {others.length === 0 ? null : (
        <Choice
          label="Compare with"
          value={since}
          onChange={setSince}
          options={[
            ...(other === undefined
              ? [{ id: since, words: since === '' ? 'An empty workspace' : 'The one before' }]
              : []),
            ...others.map((each) => ({
              id: each.id,
              words: `${checkpointName(each)}, ${formatMoment(each.created_at)}`,
            })),
          ]}
        />
      )}
      <ChangedFiles
        sandboxId={run.sandbox_id}
        checkpoint={checkpoint.id}
        {...(other && { since: other.id })}
      />
    </>
  );
}
