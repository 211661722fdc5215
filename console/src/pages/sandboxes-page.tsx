import { memo } from 'react';
import { Link } from 'wouter';
import { type Answer, call, type CallInput } from '../api/client.ts';
import { Amounts, sandboxAmounts } from '../lists/amounts.tsx';
import type { Selection } from '../lists/bulk-actions.tsx';
import { FilteredList, type ListPage, useFilteredList } from '../lists/filtered-list.tsx';
import { TableHead } from '../lists/table-head.tsx';
import { formatTimeOfDay } from '../live/time-format.ts';
import { useAnswer } from '../live/use-live.ts';
import { Ago, Check, Empty, State } from '../parts/elements.tsx';
import { NewSandbox } from '../sandboxes/new-sandbox.tsx';
import { SandboxActions } from '../sandboxes/sandbox-actions.tsx';
import { sandboxName } from '../sandboxes/sandbox-name.ts';
import '../sandboxes/sandboxes.css';

type Sandbox = Answer<'GET /v1/sandbox'>['sandboxes'][number];
type SandboxQuery = NonNullable<CallInput<'GET /v1/sandbox'>['query']>;

const KIND = {
  noun: 'sandboxes',
  stateField: 'state',
  states: [
    { id: 'any', words: 'Any state' },
    { id: 'running', words: 'Running' },
    { id: 'stopped', words: 'Stopped' },
    { id: 'creating', words: 'Creating' },
  ],
  sorts: [
    { id: 'newest', words: 'Newest' },
    { id: 'oldest', words: 'Oldest' },
    { id: 'active', words: 'Last active' },
    { id: 'name', words: 'Name' },
  ],
} as const;

async function readSandboxes(query: SandboxQuery, signal: AbortSignal): Promise<ListPage<Sandbox>> {
  const { sandboxes, next, total } = await call('GET /v1/sandbox', { query, signal });
  return { items: sandboxes, next, total };
}

const idOf = ({ id }: Sandbox) => id;

/** The user's sandboxes. The filter is in the address. */
export function SandboxesPage() {
  const list = useFilteredList(KIND, readSandboxes, idOf);
  const { items, reload } = list;
  return (
    <>
      <div className="page-head">
        <h1>Sandboxes</h1>
        <NewSandbox onMade={reload} />
      </div>
      <QuotaBar seen={(items ?? []).map(({ id, state }) => id.slice(0, 4) + state).join()} />
      <FilteredList
        list={list}
        nouns={['sandbox', 'sandboxes']}
        nameOf={sandboxName}
        actions={[
          {
            verb: 'Stop',
            applies: ({ state }) => state === 'running',
            run: ({ id }) => call('POST /v1/sandbox/{id}/stop', { path: { id } }),
            note: <p>Their processes, terminals and previews end. Files are kept.</p>,
          },
          {
            verb: 'Delete',
            danger: true,
            applies: () => true,
            run: ({ id }) => call('DELETE /v1/sandbox/{id}', { path: { id } }),
            note: (
              <p>
                This also deletes their files, processes, terminals, previews and delegations. Their runs end.
                This cannot be undone.
              </p>
            ),
          },
        ]}
        first={
          <Empty title="No sandboxes yet">
            <p>A sandbox is an isolated machine for an agent, with files, commands and terminals.</p>
          </Empty>
        }
      >
        {(sandboxes, selection) => (
          <SandboxTable sandboxes={sandboxes} selection={selection} onChange={reload} />
        )}
      </FilteredList>
    </>
  );
}

interface SandboxTableProps {
  readonly sandboxes: readonly Sandbox[];
  readonly selection: Selection;
  readonly onChange: () => void;
}

function SandboxTable({ sandboxes, selection: { ids, select }, onChange }: SandboxTableProps) {
  return (
    <table className="list picked">
      <TableHead
        columns={['Sandbox', 'State', { wide: 'Image' }, { wide: 'Active' }]}
        actions
        selects={{ label: 'All sandboxes shown', ids, select, rows: sandboxes.map(idOf) }}
      />
      <tbody>
        {sandboxes.map((sandbox) => (
          <Row
            key={sandbox.id}
            sandbox={sandbox}
            isSelected={ids.has(sandbox.id)}
            select={select}
            onChange={onChange}
          />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  readonly sandbox: Sandbox;
  readonly isSelected: boolean;
  readonly select: Selection['select'];
  readonly onChange: () => void;
}

/** Re-rendered only when its sandbox or its selection changes: there may be many hundreds. */
const Row = memo(
  ({ sandbox, isSelected, select, onChange }: RowProps) => {
    const { id, tags, state, expires_at: expires } = sandbox;
    return (
      <tr>
        <td>
          <Check
            aria-label={`Select ${sandboxName(sandbox)}`}
            isSelected={isSelected}
            onChange={(isOn) => select([id], isOn)}
          />
        </td>
        <td>
          <Link href={`/sandboxes/${encodeURIComponent(id)}`}>{sandboxName(sandbox)}</Link>
          <span className="id">
            {`${id} `}
            {Object.entries(tags).map(([key, each]) => (
              <span className="tag" key={key}>
                {key}:{each}
              </span>
            ))}
          </span>
        </td>
        <td>
          <State value={state} />
        </td>
        <td className="wide">{sandbox.image ?? 'default'}</td>
        <td className="wide">
          <Ago at={sandbox.last_active_at} />
          {expires === null ? null : (
            <span className="expires quiet">
              stops at <time dateTime={expires}>{formatTimeOfDay(expires)}</time>
            </span>
          )}
        </td>
        <td>
          <SandboxActions sandbox={sandbox} onChange={onChange} />
        </td>
      </tr>
    );
  },
  (before, after) =>
    before.isSelected === after.isSelected &&
    JSON.stringify(before.sandbox) === JSON.stringify(after.sandbox),
);
Row.displayName = 'Row';

/** The user's usage and quota, and the number of warm sandboxes. */
function QuotaBar({ seen }: { readonly seen: string }) {
  const { value: quota } = useAnswer('GET /api/quota', {}, 15_000, seen);
  const { value: pool } = useAnswer('GET /v1/pool/stats', {}, 15_000, seen);
  if (quota === undefined) return null;
  return (
    <div className="figures">
      <Amounts amounts={sandboxAmounts(quota)} />
      {pool === undefined || (pool.config.warmTarget === 0 && pool.config.maxInstances === 0) ? null : (
        <div className="figure">
          <span className="name">Kept ready, for everybody</span>
          <strong>
            {pool.warm} of {pool.config.warmTarget}
          </strong>
          <span className="name">
            {pool.assigned} in use
            {pool.config.maxInstances === 0 ? '' : `, at most ${pool.config.maxInstances} together`}
          </span>
        </div>
      )}
    </div>
  );
}
