import { useState } from 'react';
import { addressOf, type Answer } from '../api/client.ts';
import { TableHead } from '../lists/table-head.tsx';
import { formatSize } from '../live/clock.ts';
import { usePerson } from '../live/person.ts';
import { useAnswer } from '../live/use-live.ts';
import { Problem } from '../parts/elements.tsx';
import { Segments } from '../parts/segments.tsx';

type Row = Answer<'GET /v1/usage'>['usage'][number];
type Group = 'day' | 'sandbox' | 'run' | 'owner';

const EVERY_MS = 60_000;
const LIMIT = 100;
const GROUPS = [
  { id: 'day', words: 'Day' },
  { id: 'sandbox', words: 'Sandbox' },
  { id: 'run', words: 'Run' },
  { id: 'owner', words: 'Owner' },
] as const satisfies readonly { readonly id: Group; readonly words: string }[];

const amount = (value: number) => value.toLocaleString('en', { maximumFractionDigits: 1 });

/** What sandboxes have used in the last 30 days: the person's, for admins everyone's. */
export function CountedUsage() {
  const { admin } = usePerson();
  const [by, setBy] = useState<Group>('day');
  const { value, problem, reload } = useAnswer('GET /v1/usage', { query: { by, limit: LIMIT } }, EVERY_MS);
  const name = GROUPS.find(({ id }) => id === by)?.words ?? '';
  return (
    <section aria-labelledby="counted">
      <div className="section-head">
        <h2 id="counted">Last 30 days</h2>
        <a
          className="button"
          href={addressOf('GET /v1/usage', {}, { by, format: 'csv' })}
          download="usage.csv"
        >
          Download CSV
        </a>
      </div>
      <Segments
        label="Group by"
        value={by}
        onChange={setBy}
        options={GROUPS.filter(({ id }) => admin || id !== 'owner')}
      />
      <Problem words={problem} onRetry={reload} />
      {value?.usage.length === 0 && <p className="quiet">No usage yet. It is counted once a minute.</p>}
      {value !== undefined && value.usage.length > 0 && (
        <table className="list">
          <TableHead
            columns={[
              name,
              'vCPU s',
              'Memory GiB s',
              { wide: 'Disk GiB s' },
              { wide: 'Egress' },
              { wide: 'Previews' },
              { wide: 'Looks s' },
            ]}
          />
          <tbody>
            {value.usage.map((row) => (
              <UsageRow key={[row.org, row[by]].join('/')} row={row} by={by} />
            ))}
          </tbody>
        </table>
      )}
      {value !== undefined && value.next !== null && (
        <p className="quiet">These are the first {LIMIT} rows. The CSV has all.</p>
      )}
    </section>
  );
}

function UsageRow({ row, by }: { readonly row: Row; readonly by: Group }) {
  return (
    <tr>
      <td>
        {row[by] ?? 'No run'}
        {row.estimated && <span className="quiet"> (estimate)</span>}
      </td>
      <td>{amount(row.vcpu_s)}</td>
      <td>{amount(row.memory_gib_s)}</td>
      <td className="wide">{amount(row.disk_gib_s)}</td>
      <td className="wide">{formatSize(row.egress_bytes)}</td>
      <td className="wide">{formatSize(row.preview_bytes)}</td>
      <td className="wide">{amount(row.look_s)}</td>
    </tr>
  );
}
