import { Label, Meter } from 'react-aria-components';
import type { Answer } from '../api/client.ts';
import { formatMebibytes } from '../live/clock.ts';

interface Amount {
  readonly name: string;
  readonly used: number;
  /** Null: none. */
  readonly limit: number | null;
  readonly words: (amount: number) => string;
}

const count = (amount: number) => amount.toLocaleString();
const cores = (amount: number) => `${count(amount)} ${amount === 1 ? 'core' : 'cores'}`;

/** What a person uses of the resources of sandboxes. */
export function sandboxAmounts({ used, limits }: Answer<'GET /api/quota'>): readonly Amount[] {
  return [
    { name: 'Sandboxes', used: used.sandboxes, limit: limits.sandboxes, words: count },
    { name: 'CPU', used: used.cpu, limit: limits.cpu, words: cores },
    { name: 'Memory', used: used.memory_mb, limit: limits.memory_mb, words: formatMebibytes },
    { name: 'Disk', used: used.disk_mb, limit: limits.disk_mb, words: formatMebibytes },
  ];
}

/** What a person uses of runs and previews. */
export function runAmounts({ used, limits }: Answer<'GET /api/quota'>): readonly Amount[] {
  return [
    { name: 'Active runs', used: used.runs, limit: limits.runs, words: count },
    { name: 'Live previews', used: used.previews, limit: limits.previews, words: count },
  ];
}

/** Each amount beside its limit, with a bar. */
export function Amounts({ amounts }: { readonly amounts: readonly Amount[] }) {
  return amounts.map(({ name, used, limit, words }) =>
    limit === null ? (
      <div className="figure" key={name}>
        <span className="name">{name}</span>
        <strong>{words(used)}</strong>
      </div>
    ) : (
      <Meter
        key={name}
        className="figure"
        value={used}
        maxValue={Math.max(limit, 1)}
        valueLabel={`${words === cores ? count(used) : words(used)} of ${words(limit)}`}
      >
        {({ percentage, valueText }) => (
          <>
            <Label className="name">{name}</Label>
            <strong>{valueText}</strong>
            <span className={`bar ${percentage >= 90 ? 'full' : ''}`}>
              <span style={{ width: `${Math.min(percentage, 100)}%` }} />
            </span>
          </>
        )}
      </Meter>
    ),
  );
}
