import { Link } from 'wouter';
import { plainText } from '#core/shared/plain-text.ts';
import { type Answer, call, type CallInput } from '../api/client.ts';
import { Policies } from '../approvals/policies.tsx';
import type { Selection } from '../lists/bulk-actions.tsx';
import { FilteredList, type ListPage, useFilteredList } from '../lists/filtered-list.tsx';
import { Button, Check } from '../parts/controls.tsx';
import { Pending, Problem, State } from '../parts/feedback.tsx';
import { FirstRun } from '../runs/first-run.tsx';
import { NewRun } from '../runs/new-run.tsx';
import { Ago } from '../sandboxes/ago.tsx';
import { TableHead } from '../lists/table-head.tsx';

type Run = Answer<'GET /api/runs'>['runs'][number];
type RunQuery = NonNullable<CallInput<'GET /api/runs'>['query']>;

const KIND = {
  noun: 'runs',
  isShared: true,
  stateField: 'status',
  states: [
    { id: 'any', words: 'Any' },
    { id: 'running', words: 'Running' },
    { id: 'completed', words: 'Completed' },
  ],
  sorts: [
    { id: 'newest', words: 'Newest' },
    { id: 'oldest', words: 'Oldest' },
    { id: 'title', words: 'Title' },
  ],
} as const;

async function readRuns(query: RunQuery, signal: AbortSignal): Promise<ListPage<Run>> {
  const { runs, next, total } = await call('GET /api/runs', { query, signal });
  return { items: runs, next, total };
}

const idOf = (run: Run) => run.run_id;
const nameOf = ({ title, run_id: id }: Run) => plainText(title ?? '', 200) || id;

/** The user's runs. The filter is in the address. */
export function RunsPage({ isAdmin }: { readonly isAdmin: boolean }) {
  const list = useFilteredList(KIND, readRuns, idOf);
  const { items, problem, reload, filters, isFiltered } = list;
  return (
    <>
      <div className="page-head">
        <h1>Runs</h1>
        <NewRun />
      </div>
      {items === undefined ? (
        <Pending words={problem} onRetry={reload} />
      ) : items.length === 0 && !isFiltered ? (
        <>
          <Problem words={problem} onRetry={reload} />
          <FirstRun />
          {isAdmin ? null : (
            <p>
              <Button onPress={() => filters.go({ shared: 'true' })}>Show runs shared with me</Button>
            </p>
          )}
        </>
      ) : (
        <FilteredList
          list={list}
          nouns={['run', 'runs']}
          nameOf={nameOf}
          isAdmin={isAdmin}
          actions={[
            {
              verb: 'Complete',
              applies: ({ status }) => status === 'running',
              run: ({ run_id: id }) => call('POST /api/runs/{id}/complete', { path: { id } }),
              note: (
                <p>Their agents lose access, their previews end, and their sandboxes stop. Files are kept.</p>
              ),
            },
          ]}
        >
          {(runs, selection) => <RunTable runs={runs} selection={selection} />}
        </FilteredList>
      )}
      <Policies />
    </>
  );
}

interface RunTableProps {
  readonly runs: readonly Run[];
  readonly selection: Selection;
}

function RunTable({ runs, selection: { ids, select } }: RunTableProps) {
  return (
    <table className="list picked">
      <TableHead
        columns={['Run', 'State', { wide: 'Sandbox' }, { wide: 'Owner' }, 'Started']}
        selects={{ label: 'All runs shown', ids, select, rows: runs.map(idOf) }}
      />
      <tbody>
        {runs.map((run) => (
          <tr key={run.run_id}>
            <td>
              <Check
                aria-label={`Select ${nameOf(run)}`}
                isSelected={ids.has(run.run_id)}
                onChange={(isSelected) => select([run.run_id], isSelected)}
              />
            </td>
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
              <Ago at={run.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
