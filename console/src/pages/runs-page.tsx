import { Link, useLocation } from 'wouter';
import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call, type CallInput } from '../api/client.ts';
import { policySubject } from '../approvals/approval-labels.ts';
import type { Selection } from '../lists/bulk-actions.tsx';
import { FilteredList, type ListPage, useFilteredList } from '../lists/filtered-list.tsx';
import { TableHead } from '../lists/table-head.tsx';
import { usePerson } from '../live/person.ts';
import { formatMoment } from '../live/time-format.ts';
import { useAnswer, useAttempt } from '../live/use-live.ts';
import { FormDialog } from '../parts/dialog-form.tsx';
import {
  Ago,
  Button,
  Check,
  Choice,
  formText,
  Pending,
  Problem,
  State,
  TextInput,
} from '../parts/elements.tsx';
import { keepToken } from '../runs/connect-agent.tsx';
import { FirstRun } from '../runs/first-run.tsx';
import { runName } from '../runs/run-name.ts';
import { sandboxName } from '../sandboxes/sandbox-name.ts';

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
const nameOf = ({ title, run_id: id }: Run) => runName(id, title);

/** The user's runs. The filter is in the address. */
export function RunsPage() {
  const { admin } = usePerson();
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
          {admin ? null : (
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
                <bdi>{nameOf(run)}</bdi>
              </Link>
              <span className="id">{run.run_id}</span>
            </td>
            <td>
              <State value={run.status} />
            </td>
            <td className="wide">
              <Link href={`/sandboxes/${encodeURIComponent(run.sandbox_id)}`} title={run.sandbox_id}>
                {sandboxName({ id: run.sandbox_id })}
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

/** The permanent approvals, with a button to revoke each; nothing if there are none. */
function Policies() {
  const { value, reload } = useAnswer('GET /api/approval-policies', { query: { limit: 100 } }, 10_000);
  const { problem, attempt, retry } = useAttempt();
  if (value === undefined || value.policies.length === 0) return null;
  const end = (id: string) =>
    void attempt(() => call('DELETE /api/approval-policies/{id}', { path: { id } })).then(reload);
  return (
    <section aria-labelledby="policies">
      <div className="section-head">
        <h2 id="policies">Approved without a question</h2>
      </div>
      <Problem words={problem} onRetry={retry} />
      <ul className="policies">
        {value.policies.map((policy) => (
          <li key={policy.policy_id}>
            <span>
              {policySubject(policy.tool)}{' '}
              {policy.target_port === null ? 'any port' : `port ${policy.target_port}`}{' '}
              {policy.run_id === null ? (
                `in all runs of ${policy.owner}`
              ) : (
                <>
                  in <Link href={`/runs/${encodeURIComponent(policy.run_id)}`}>one run</Link> of{' '}
                  {policy.owner}
                </>
              )}
              <span className="quiet">
                {' '}
                since {formatMoment(policy.created_at)}
                {policy.created_by === policy.owner ? '' : `, by ${policy.created_by}`}
              </span>
            </span>
            <Button onPress={() => end(policy.policy_id)}>Ask again</Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const NEW = 'new';

/** Starts a run in a new or an existing sandbox. */
function NewRun() {
  const [, navigate] = useLocation();
  const { value: found } = useAnswer('GET /v1/sandbox', { query: { limit: 100 } });
  return (
    <FormDialog
      trigger={<Button variant="primary">New run</Button>}
      title="New run"
      action="Start run"
      onSubmit={async (form) => {
        const title = formText(form, 'title');
        const sandbox = formText(form, 'sandbox');
        const { run_id: id, agent_token: token } = await call('POST /api/runs', {
          body: {
            ...(title === '' ? {} : { title }),
            ...(sandbox === '' || sandbox === NEW ? {} : { sandbox_id: sandbox }),
            auto_approve_tools: form.get('auto') !== null,
          },
        });
        keepToken(id, token, 0);
        navigate(`/runs/${encodeURIComponent(id)}`);
      }}
    >
      <TextInput label="Title" name="title" maxLength={200} hint="What the agent is to do, for people" />
      <Choice
        label="Sandbox"
        name="sandbox"
        defaultValue={NEW}
        options={[
          { id: NEW, words: 'New sandbox' },
          ...(found?.sandboxes ?? []).map(({ id, name }) => ({
            id,
            words: plainText(sandboxName({ id, name }), 60),
          })),
        ]}
      />
      <Check name="auto">Approve this agent's previews automatically</Check>
    </FormDialog>
  );
}
