import { useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { type Answer, ApiError, call } from '../api/client.ts';
import { usePerson } from '../live/person.ts';
import { problemOf, useWindowEvent } from '../live/use-live.ts';
import { Button, Problem } from '../parts/elements.tsx';
import { inputsFor, inputsOf, readInputs } from './tool-inputs.ts';
import { LockBar } from './lock-bar.tsx';
import { RunHistory } from './run-history.tsx';
import { RunPanel } from './run-panel.tsx';
import { RunResult } from './run-result.tsx';
import { fieldsOf, reasonsByField } from './schema-form.ts';
import { type FieldsTab, tabOf, ToolFieldTabs } from './tool-fields.tsx';
import { FIELD_NAMES, readSchema, textOf } from './tool-text.ts';
import { useDraftLock } from './use-draft-lock.ts';
import { type ToolRun, useToolRuns } from './use-tool-runs.ts';
import { useWorkingCopy } from './use-working-copy.ts';
import { Changes, Versions } from './versions.tsx';
import { copyOf, onTopOf } from './working-copies.ts';

export interface WorkbenchProps {
  readonly tool: Answer<'GET /api/v1/editor/tools/{tool_id}'>;
  readonly draft: Answer<'GET /api/v1/editor/tools/{tool_id}/draft'>;
  readonly onStale: () => void;
}

/** Runs use the editor's text, saved or not. */
export function Workbench({ tool, draft, onStale }: WorkbenchProps) {
  const me = usePerson();
  const toolId = tool.tool_id;
  const [, navigate] = useLocation();
  const lock = useDraftLock(toolId, me.user, (revision) => {
    if (revision !== draft.revision) onStale();
  });
  const work = useWorkingCopy({ person: `${me.org}/${me.user}`, toolId, draft, lock, onStale });
  const { copy, changed } = work;
  const [seen, setSeen] = useState(0);
  const runs = useToolRuns(() => setSeen((count) => count + 1));
  const [tab, setTab] = useState<FieldsTab>('code');
  const { schema } = readSchema(copy.text.input_schema);
  const inputFields = fieldsOf(schema);
  const [inputs, setInputs] = useState(() => inputsFor(schema));
  const [touched, setTouched] = useState(false);
  const [inputProblems, setInputProblems] = useState<Readonly<Record<string, string>>>({});
  const [files, setFiles] = useState<readonly File[]>([]);
  const [problem, setProblem] = useState<string>();

  const schemaText = copy.text.input_schema;
  useEffect(() => {
    // Untouched fields follow the schema's defaults.
    const read = readSchema(schemaText);
    if (!touched && read.problem === undefined) setInputs(inputsFor(read.schema));
  }, [schemaText, touched]);
  const isHeld = lock.state.kind === 'held';
  useEffect(() => {
    // The previous holder of the lock may have saved changes.
    if (isHeld) onStale();
  }, [isHeld, onStale]);
  useWindowEvent('keydown', (event) => {
    if (!(event.metaKey || event.ctrlKey) || event.altKey || event.key.toLowerCase() !== 's') return;
    event.preventDefault();
    void work.save();
  });
  useEffect(() => {
    // Shows the tab of the field that has just become invalid.
    const first = FIELD_NAMES.find((name) => work.problems[name] !== undefined);
    if (first !== undefined) setTab(tabOf(first));
  }, [work.problems]);

  const had = lock.state.kind === 'none' && lock.state.had;
  const readOnly = !isHeld && !changed && !had;
  const refused =
    isHeld || (had && lock.state.kind === 'none' && lock.state.by === undefined)
      ? undefined
      : 'Running needs the lock of the draft.';
  const runWith = async (value: unknown) => {
    setProblem(undefined);
    const fields = work.fields();
    if (fields === undefined) return;
    try {
      await lock.use((token) =>
        runs.start({ versionId: copy.versionId, token, fields, inputs: value, files }),
      );
    } catch (error) {
      if (error instanceof ApiError && error.code === 'invalid_inputs') {
        const reasons = error.details['reasons'];
        setInputProblems(
          Array.isArray(reasons) ? reasonsByField(reasons.map(String)) : { '': error.message },
        );
      } else if (!work.refuse(error)) setProblem(problemOf(error));
    }
  };
  const runIt = async () => {
    const read = readInputs(inputs, inputFields);
    setInputProblems(read.problems ?? {});
    if (read.problems === undefined) await runWith(read.value);
  };
  const runAgain = async (run: ToolRun) => {
    try {
      const { inputs: given } = await firstOf(run);
      setInputs(inputsOf(given));
      setTouched(true);
      setInputProblems({});
      await runWith(given);
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  const act = async (
    run: ToolRun,
    action: { readonly id: string; readonly title: string },
    given: unknown,
  ) => {
    setProblem(undefined);
    try {
      await lock.use((token) => runs.act(run, action, given, token));
    } catch (error) {
      setProblem(problemOf(error));
      throw error;
    }
  };
  const { run } = runs;
  return (
    <>
      <LockBar
        lock={lock}
        user={me.user}
        admin={me.admin}
        changed={changed}
        code={copy.text.source_code}
        fields={work.fields}
        name={tool.name}
        onCopied={(id) => navigate(`/tools/${encodeURIComponent(id)}`)}
      />
      {work.newer === undefined ? null : (
        <div className="reason conflict">
          <p role="status">
            {work.newer.updated_by} has saved the draft since you began: revision {work.newer.revision}, and
            yours is on top of {copy.revision}.
          </p>
          <details>
            <summary>What differs from it</summary>
            <Changes before={textOf(work.newer)} after={copy.text} />
          </details>
          <div className="tools">
            <Button onPress={() => work.replace(copyOf(draft), 'The saved draft is here now.')}>
              Take the saved one
            </Button>
            <Button onPress={() => work.replace(onTopOf(copy, draft), 'Your text can be saved over it now.')}>
              Keep mine
            </Button>
          </div>
        </div>
      )}
      <div className="bench">
        <section aria-label="Draft">
          <div className="section-head">
            <h2>
              Draft <span className="quiet">{changed ? 'not saved' : 'saved'}</span>
            </h2>
            <div className="tools">
              {changed ? (
                <Button
                  onPress={() =>
                    work.replace(
                      { ...copy, text: copy.saved, versionId: copy.savedVersionId },
                      'The draft is as it was saved. Undo in an editor brings its text back.',
                    )
                  }
                >
                  Discard changes
                </Button>
              ) : null}
              <Button isDisabled={work.busy} onPress={() => void work.saveVersion()}>
                Save as a new version
              </Button>
              <Button
                isDisabled={!changed || work.busy || work.newer !== undefined}
                aria-keyshortcuts="Control+S Meta+S"
                onPress={() => void work.save()}
              >
                {work.busy ? 'Saving…' : 'Save draft'}
              </Button>
            </div>
          </div>
          <p className="notice-line" role="status">
            {work.notice}
          </p>
          <Problem words={work.problem} />
          <ToolFieldTabs
            text={copy.text}
            saved={copy.saved}
            problems={work.problems}
            readOnly={readOnly}
            tab={tab}
            onTab={setTab}
            onEdit={work.edit}
            versions={
              <Versions
                toolId={toolId}
                text={copy.text}
                versionId={copy.versionId}
                mayEdit={!readOnly}
                onBringBack={(version) => {
                  work.replace(
                    { ...copy, text: textOf(version), versionId: version.version_id },
                    `Version ${version.number} is in the editor, and not saved yet.`,
                  );
                  setTab('code');
                }}
              />
            }
          />
        </section>
        <div>
          <RunPanel
            inputs={inputs}
            onInputs={(next) => {
              setTouched(true);
              setInputProblems({});
              setInputs(next);
            }}
            fields={inputFields}
            problems={inputProblems}
            files={files}
            onFiles={setFiles}
            changed={changed}
            refused={refused}
            underWay={runs.underWay}
            onRun={() => void runIt()}
          />
          <section aria-labelledby="gave">
            <div className="section-head">
              <h2 id="gave">Runs</h2>
            </div>
            <Problem words={problem ?? runs.problem} />
            {run === undefined ? null : (
              <RunResult
                key={run.run_id}
                run={run}
                expired={runs.expired}
                refused={refused}
                underWay={runs.underWay}
                onAct={(action, given) => act(run, action, given)}
                onRunAgain={() => void runAgain(run)}
              />
            )}
            <RunHistory
              toolId={toolId}
              seen={seen}
              current={run?.run_id}
              onShow={(id) => {
                setProblem(undefined);
                void runs.show(id);
              }}
            />
          </section>
        </div>
      </div>
    </>
  );
}

/** Longer chains of actions must be restarted by hand. */
const MAX_STEPS = 50;

/** The first run of a chain of actions: its inputs can be reused. */
async function firstOf(run: ToolRun): Promise<ToolRun> {
  let first = run;
  for (let step = 0; step < MAX_STEPS && first.parent_run_id !== null; step += 1) {
    first = await call('GET /api/v1/editor/tool-runs/{run_id}', { path: { run_id: first.parent_run_id } });
  }
  return first;
}
