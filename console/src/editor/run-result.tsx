import { useEffect, useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { ApiError } from '../api/client.ts';
import { formatSize, timeLeft } from '../live/clock.ts';
import { useNow } from '../live/use-live.ts';
import { Button, Problem, State } from '../parts/elements.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';
import { InputsForm } from './inputs-form.tsx';
import { fieldsOf, type FormField, isObject } from './schema-form.ts';
import { inputsFor, readInputs } from './tool-inputs.ts';
import type { ToolRun, UnderWay } from './use-tool-runs.ts';

/** Maximum characters shown: browsers take seconds to lay out a megabyte in one line. */
const MAX_SHOWN_CHARS = 50_000;

interface BoundedTextProps {
  readonly label: string;
  readonly text: string;
  /** Name of the download. */
  readonly file: string;
}

/** A text that may be megabytes: its beginning, and a download of all of it. */
function BoundedText({ label, text, file }: BoundedTextProps) {
  const isCut = text.length > MAX_SHOWN_CHARS;
  return (
    <>
      {/* It may scroll: then a keyboard must reach it. */}
      <pre tabIndex={0} role="region" aria-label={label}>
        {isCut ? text.slice(0, MAX_SHOWN_CHARS) : text}
      </pre>
      {isCut ? (
        <p className="hint">
          The first {MAX_SHOWN_CHARS.toLocaleString('en')} characters. <WholeText text={text} file={file} />
        </p>
      ) : null}
    </>
  );
}

function WholeText({ text, file }: Omit<BoundedTextProps, 'label'>) {
  const [made, setMade] = useState<{ readonly address: string; readonly size: number }>();
  useEffect(() => {
    const blob = new Blob([text], { type: 'text/plain' });
    const address = URL.createObjectURL(blob);
    setMade({ address, size: blob.size });
    return () => URL.revokeObjectURL(address);
  }, [text]);
  if (made === undefined) return null;
  return (
    <a href={made.address} download={file}>
      Download all of it ({formatSize(made.size)})
    </a>
  );
}

/** A next action of a run, as shown. */
interface OfferedAction {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Its form; undefined: no inputs. */
  readonly inputs:
    | { readonly schema: unknown; readonly fields: readonly FormField[] | undefined }
    | undefined;
}

/** Maximum characters; longer ones are truncated. */
const MAX_TITLE_CHARS = 80;

/**
 * The next actions of a run: `title` (or `label`), `description` and `input_schema` are read, other
 * fields belong to the tool.
 */
function offeredBy({ next_actions: actions }: ToolRun): readonly OfferedAction[] {
  return actions.map((action) => {
    const text = (name: string) => (typeof action[name] === 'string' ? action[name] : '');
    const title = text('title') || text('label') || action.id;
    const schema = action['input_schema'];
    return {
      id: action.id,
      title: plainText(title, MAX_TITLE_CHARS),
      description: text('description'),
      inputs: isObject(schema) ? { schema, fields: fieldsOf(schema) } : undefined,
    };
  });
}

interface RunResultProps {
  readonly run: ToolRun;
  /** The server reported that its snapshot has expired. */
  readonly expired: boolean;
  /** Why nothing can start now. */
  readonly refused: string | undefined;
  readonly underWay: UnderWay | undefined;
  readonly onAct: (action: { readonly id: string; readonly title: string }, inputs: unknown) => Promise<void>;
  readonly onRunAgain: () => void;
}

/**
 * The result of a run, and the actions on its snapshot, regardless of the editor's current text.
 */
export function RunResult({ run, expired, refused, underWay, onAct, onRunAgain }: RunResultProps) {
  const now = useNow();
  const left = Date.parse(run.expires_at) - now;
  const isExpired = expired || left <= 0;
  const actions = offeredBy(run);
  const isBusy = underWay !== undefined;
  const { error, outputs } = run;
  return (
    <article className="result" aria-label="What the run gave">
      <p className="facts">
        <State value={run.status} />
        {run.action_id === null ? null : <span>action {run.action_id}</span>}
        <span>{formatDuration(run, now)}</span>
        <span className="id" title={run.snapshot_id}>
          snapshot …{run.snapshot_id.slice(-8)}
        </span>
        {isExpired ? (
          <span>expired</span>
        ) : actions.length === 0 ? null : (
          <span>actions for {timeLeft(left)}</span>
        )}
      </p>
      {error === null ? null : (
        <>
          <Problem words={`${error.code}: ${error.message}`} />
          {error.traceback === null ? null : (
            <BoundedText label="Traceback" text={error.traceback} file={`${run.run_id}-traceback.txt`} />
          )}
        </>
      )}
      {outputs === null ? null : (
        <BoundedText
          label="Outputs"
          text={typeof outputs === 'string' ? outputs : JSON.stringify(outputs, null, 2)}
          file={typeof outputs === 'string' ? `${run.run_id}.txt` : `${run.run_id}.json`}
        />
      )}
      {isExpired ? (
        <div className="reason" role="status">
          <span>
            {actions.length === 0
              ? 'The snapshot of this run has expired.'
              : 'The snapshot of this run has expired: its actions need a new run.'}{' '}
            That runs what the editor holds now, with the same inputs.
          </span>
          <Button variant="primary" isDisabled={refused !== undefined || isBusy} onPress={onRunAgain}>
            Run again
          </Button>
        </div>
      ) : null}
      {actions.length === 0 ? null : (
        <div className="actions" role="group" aria-label="What may follow">
          {actions.map((action) => (
            <ActionButton
              key={action.id}
              action={isExpired ? { ...action, title: `${action.title} (expired)` } : action}
              isDisabled={isExpired || refused !== undefined || isBusy}
              isBusy={underWay?.what === action.title}
              onAct={(inputs) => onAct(action, inputs)}
            />
          ))}
        </div>
      )}
      {(['stdout', 'stderr'] as const).map((name) =>
        run[name] === '' ? null : (
          <details key={name} open={run.status === 'failed'}>
            <summary>
              {name} <span className="quiet">{run[name].split('\n').length} lines</span>
            </summary>
            <BoundedText label={name} text={run[name]} file={`${run.run_id}-${name}.txt`} />
          </details>
        ),
      )}
    </article>
  );
}

interface ActionButtonProps {
  readonly action: OfferedAction;
  readonly isDisabled: boolean;
  readonly isBusy: boolean;
  /** @throws problems of the inputs, or the API's refusal */
  readonly onAct: (inputs: unknown) => Promise<void>;
}

/** An action after a run: started at once, or after its inputs. */
function ActionButton({ action, isDisabled, isBusy, onAct }: ActionButtonProps) {
  const { title, inputs: asked, description } = action;
  const [inputs, setInputs] = useState(() => inputsFor(asked?.schema));
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  if (asked === undefined) {
    return (
      <Button isDisabled={isDisabled} onPress={() => void onAct({}).catch(() => undefined)}>
        {isBusy ? 'One moment…' : title}
      </Button>
    );
  }
  const submit = async () => {
    const read = readInputs(inputs, asked.fields);
    setProblems(read.problems ?? {});
    if (read.problems !== undefined) {
      throw new ApiError(422, 'invalid_inputs', 'Not all of it can be sent: see above.');
    }
    await onAct(read.value);
  };
  return (
    <FormDialog
      trigger={<Button isDisabled={isDisabled}>{isBusy ? 'One moment…' : `${title}…`}</Button>}
      title={title}
      action="Start"
      onSubmit={submit}
    >
      {description === '' ? null : <p>{description}</p>}
      <InputsForm
        inputs={inputs}
        onChange={(next) => {
          // A form with a field marked invalid cannot be submitted.
          setProblems({});
          setInputs(next);
        }}
        fields={asked.fields}
        asJson={false}
        problems={problems}
      />
    </FormDialog>
  );
}

/**
 * A duration so far or in total: `0.4 s`, `12 s`, `1 min 05 s`. Arguments in milliseconds since the
 * epoch.
 */
function formatDuration(
  { created_at: began, ended_at: ended }: { readonly created_at: string; readonly ended_at: string | null },
  now: number,
): string {
  const took = Math.max(0, (ended === null ? now : Date.parse(ended)) - Date.parse(began));
  if (took < 10_000) return `${(took / 1_000).toFixed(1)} s`;
  const seconds = Math.round(took / 1_000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
}
