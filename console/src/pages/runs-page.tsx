import { useState } from 'react';
import { Link } from 'wouter';
import { plainText } from '#core/shared/plain-text.ts';
import { Policies } from '../approvals/policies.tsx';
import { timeAgo } from '../live/clock.ts';
import { useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Choice, TextInput } from '../parts/controls.tsx';
import { Empty, Loading, Problem, State } from '../parts/feedback.tsx';
import { FirstRun } from '../runs/first-run.tsx';
import { NewRun } from '../runs/new-run.tsx';
import { matches, type RunFilter, type RunPageOf } from '../runs/run-pages.ts';
import { useRuns } from '../runs/use-runs.ts';

const STATES: readonly { readonly id: RunFilter['status']; readonly words: string }[] = [
  { id: 'any', words: 'Any' },
  { id: 'running', words: 'Running' },
  { id: 'completed', words: 'Completed' },
];

/** The user's runs, newest first. */
export function RunsPage() {
  const { runs, more, busy, problem, reload, showMore } = useRuns();
  const [filter, setFilter] = useState<RunFilter>({ text: '', status: 'any' });
  const shown = runs?.filter((run) => matches(run, filter));
  return (
    <>
      <div className="page-head">
        <h1>Runs</h1>
        <NewRun />
      </div>
      {problem === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {runs === undefined || shown === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : runs.length === 0 ? (
        <FirstRun />
      ) : (
        <>
          <div className="filters">
            <TextInput
              label="Find"
              type="search"
              placeholder="Title, id or owner"
              value={filter.text}
              onChange={(text) => setFilter({ ...filter, text })}
            />
            <Choice
              label="State"
              value={filter.status}
              onChange={(id) =>
                setFilter({ ...filter, status: STATES.find((each) => each.id === id)?.id ?? 'any' })
              }
              options={STATES}
            />
          </div>
          {shown.length === 0 ? (
            <Empty title={`None of the ${runs.length} newest runs fits`}>
              {more ? <p>Older ones may: show more.</p> : null}
            </Empty>
          ) : (
            <RunTable runs={shown} />
          )}
          {more ? (
            <Button isDisabled={busy} onPress={() => void showMore()}>
              {busy ? 'Loading…' : 'Show more'}
            </Button>
          ) : null}
          <p className="hidden" role="status">
            {shown.length === runs.length
              ? `${runs.length} runs shown`
              : `${shown.length} of ${runs.length} runs fit`}
          </p>
        </>
      )}
      <Policies />
    </>
  );
}

function RunTable({ runs }: { readonly runs: RunPageOf['runs'] }) {
  const now = useNow();
  return (
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
        {runs.map((run) => (
          <tr key={run.run_id}>
            <td>
              <Link href={`/runs/${encodeURIComponent(run.run_id)}`} className="clamped">
                <bdi>{plainText(run.title ?? '', 200) || 'Untitled run'}</bdi>
              </Link>
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
              <time dateTime={run.created_at} title={new Date(run.created_at).toLocaleString()}>
                {timeAgo(now - Date.parse(run.created_at))}
              </time>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
