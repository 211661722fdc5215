import { useState } from 'react';
import { Checkbox } from 'react-aria-components';
import { Link, useLocation } from 'wouter';
import { call } from '../api/client.ts';
import { timeAgo } from '../live/time-words.ts';
import { useAnswer, useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Loading, Problem, State } from '../parts/feedback.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { formText } from '../parts/form-text.ts';
import { TextInput } from '../parts/text-input.tsx';
import { FirstRun } from '../runs/first-run.tsx';

const PAGE = 50;

/** One's runs, newest first. */
export function RunsPage() {
  const [limit, setLimit] = useState(PAGE);
  const { value, problem, reload } = useAnswer('GET /api/runs', { query: { limit } }, 5_000);
  const now = useNow();
  return (
    <>
      <div className="page-head">
        <h1>Runs</h1>
        <NewRun />
      </div>
      {problem === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {value === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : value.runs.length === 0 ? (
        <FirstRun />
      ) : (
        <table className="list">
          <thead>
            <tr>
              <th scope="col">Run</th>
              <th scope="col">State</th>
              <th scope="col" className="wide">
                Sandbox
              </th>
              <th scope="col" className="wide">
                Owner
              </th>
              <th scope="col">Started</th>
            </tr>
          </thead>
          <tbody>
            {value.runs.map((run) => (
              <tr key={run.run_id}>
                <td>
                  <Link href={`/runs/${encodeURIComponent(run.run_id)}`}>{run.title ?? 'Untitled run'}</Link>
                  <span className="id">{run.run_id}</span>
                </td>
                <td>
                  <State value={run.status} />
                </td>
                <td className="wide">
                  <Link href={`/sandboxes/${encodeURIComponent(run.sandbox_id)}`} className="id">
                    {run.sandbox_id}
                  </Link>
                </td>
                <td className="wide">{run.owner}</td>
                <td>
                  <time dateTime={run.created_at}>{timeAgo(now - Date.parse(run.created_at))}</time>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {value !== undefined && value.next !== null && limit < 200 ? (
        <Button onPress={() => setLimit((before) => Math.min(before + PAGE, 200))}>Show more</Button>
      ) : null}
    </>
  );
}

function NewRun() {
  const [, navigate] = useLocation();
  return (
    <FormDialog
      trigger={<Button variant="primary">New run</Button>}
      title="New run"
      action="Start it"
      onSubmit={async (form) => {
        const title = formText(form, 'title');
        const { run_id: id } = await call('POST /api/runs', {
          body: {
            ...(title === '' ? {} : { title }),
            auto_approve_tools: form.get('auto') !== null,
          },
        });
        navigate(`/runs/${id}`);
      }}
    >
      <TextInput label="Title" name="title" maxLength={200} hint="What the agent is to do, for people" />
      <Checkbox name="auto" className="check">
        <span className="box" aria-hidden="true" />
        Open previews that its agent asks for without a question
      </Checkbox>
    </FormDialog>
  );
}
