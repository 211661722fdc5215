import { useState } from 'react';
import { Link } from 'wouter';
import { addressOf, type Answer, call, request } from '../api/client.ts';
import CodeEditor from '../editor/code-editor.tsx';
import { RunResult, type ToolRun } from '../editor/run-result.tsx';
import { useDraftLock } from '../editor/use-draft-lock.ts';
import { timeAgo } from '../live/time-words.ts';
import { problemOf, useAnswer, useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Loading, Missing, Problem, State } from '../parts/feedback.tsx';

type Draft = Answer<'GET /api/v1/editor/tools/{tool_id}/draft'>;

/** A tool: its draft, and what running it gives. */
export default function ToolPage({ id }: { readonly id: string }) {
  const path = { tool_id: id };
  const { value: me } = useAnswer('GET /api/session');
  const {
    value: draft,
    problem,
    missing,
    reload,
  } = useAnswer('GET /api/v1/editor/tools/{tool_id}/draft', { path });
  const { value: tools } = useAnswer('GET /api/v1/editor/tools', { query: { limit: 200 } });
  const name = tools?.tools.find((tool) => tool.tool_id === id)?.name ?? 'Tool';
  const { state: lock, takeOver } = useDraftLock(id, me);
  if (draft === undefined) {
    if (missing) return <Missing what="tool" />;
    return problem === undefined ? <Loading /> : <Problem words={problem} onRetry={reload} />;
  }
  return (
    <>
      <div className="page-head">
        <div>
          <p className="crumb">
            <Link href="/tools">Tools</Link>
          </p>
          <h1>{name}</h1>
          <p className="facts">
            <span className="id">{id}</span>
            <span>{draft.language === 'python' ? 'Python' : 'Node.js'}</span>
            <span role="status">
              {lock.kind === 'held'
                ? 'You edit it'
                : lock.kind === 'asking'
                  ? 'Asking for the lock…'
                  : 'Read only'}
            </span>
          </p>
        </div>
      </div>
      {lock.kind === 'refused' ? (
        <div className="reason" role="status">
          <span>{lock.why}</span>
          {lock.locked && me?.admin === true ? <Button onPress={takeOver}>Take it over</Button> : null}
        </div>
      ) : null}
      <Bench
        key={draft.version_id}
        toolId={id}
        draft={draft}
        lock={lock.kind === 'held' ? lock.token : undefined}
      />
    </>
  );
}

interface BenchProps {
  readonly toolId: string;
  readonly draft: Draft;
  readonly lock: string | undefined;
}

/** What the editor holds, saved or not, is what is run. */
function Bench({ toolId, draft, lock }: BenchProps) {
  const [source, setSource] = useState(draft.source_code);
  const [saved, setSaved] = useState(draft.source_code);
  const [inputs, setInputs] = useState('{}');
  const [run, setRun] = useState<ToolRun>();
  const [busy, setBusy] = useState<'run' | 'save'>();
  const [problem, setProblem] = useState<string>();
  const now = useNow();
  const history = useAnswer(
    'GET /api/v1/editor/tool-runs',
    { query: { tool_id: toolId, limit: 20 } },
    undefined,
    run?.run_id,
  );
  const attempt = async (what: 'run' | 'save', action: (token: string) => Promise<void>) => {
    if (lock === undefined) return;
    setBusy(what);
    setProblem(undefined);
    try {
      await action(lock);
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(undefined);
    }
  };
  const runIt = () =>
    void attempt('run', async (token) => {
      const form = new FormData();
      form.append('snapshot', JSON.stringify({ source_code: source }));
      form.append('inputs', inputs);
      const address = addressOf('POST /api/v1/editor/tool-versions/{version_id}/run-sandbox', {
        version_id: draft.version_id,
      });
      const answer = await request(address, {
        method: 'POST',
        body: form,
        headers: { 'draft-lock-token': token },
      });
      setRun((await answer.json()) as ToolRun);
    });
  const save = () =>
    void attempt('save', async (token) => {
      await call('PUT /api/v1/editor/tools/{tool_id}/draft', {
        path: { tool_id: toolId },
        body: { source_code: source },
        headers: { 'draft-lock-token': token },
      });
      setSaved(source);
    });
  const show = async (runId: string) => {
    try {
      setRun(await call('GET /api/v1/editor/tool-runs/{run_id}', { path: { run_id: runId } }));
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  const changed = source !== saved;
  return (
    <div className="columns bench">
      <section aria-label="Code">
        <div className="section-head">
          <h2>
            Draft <span className="quiet">{changed ? 'not saved' : 'saved'}</span>
          </h2>
          <div className="tools">
            <Button isDisabled={!changed || lock === undefined || busy !== undefined} onPress={save}>
              {busy === 'save' ? 'Saving…' : 'Save draft'}
            </Button>
            <Button variant="primary" isDisabled={lock === undefined || busy !== undefined} onPress={runIt}>
              {busy === 'run' ? 'Running…' : changed ? 'Run unsaved' : 'Run'}
            </Button>
          </div>
        </div>
        <CodeEditor
          label="Code of the tool"
          initial={draft.source_code}
          language={draft.language === 'python' ? 'py' : 'js'}
          onChange={setSource}
        />
        <div className="field inputs">
          <label htmlFor="inputs">Inputs, as JSON</label>
          <textarea id="inputs" rows={4} value={inputs} onChange={(event) => setInputs(event.target.value)} />
        </div>
      </section>
      <section aria-labelledby="gave">
        <div className="section-head">
          <h2 id="gave">Runs</h2>
        </div>
        {problem === undefined ? null : <Problem words={problem} />}
        {run === undefined ? null : (
          <RunResult key={run.run_id} run={run} lock={lock} onRun={setRun} onRerun={runIt} />
        )}
        <ul className="history">
          {(history.value?.runs ?? []).map((each) => (
            <li key={each.run_id} aria-current={each.run_id === run?.run_id ? 'true' : undefined}>
              <Button variant="plain" onPress={() => void show(each.run_id)}>
                {each.action_id ?? 'Run'} <span className="id">…{each.run_id.slice(-6)}</span>
              </Button>
              <State value={each.status} />
              <time dateTime={each.created_at}>{timeAgo(now - Date.parse(each.created_at))}</time>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}
