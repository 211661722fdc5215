import { Label, Meter } from 'react-aria-components';
import { formatMebibytes } from '../live/clock.ts';
import { useAnswer } from '../live/use-live.ts';

const count = (amount: number) => amount.toLocaleString();
const cores = (amount: number) => `${count(amount)} ${amount === 1 ? 'core' : 'cores'}`;

/** The user's usage and quota, and the number of warm sandboxes. */
export function QuotaBar({ seen }: { readonly seen: string }) {
  const { value: quota } = useAnswer('GET /api/quota', {}, 15_000, seen);
  const { value: pool } = useAnswer('GET /v1/pool/stats', {}, 15_000, seen);
  if (quota === undefined) return null;
  const { used, limits } = quota;
  const amounts = [
    { name: 'Sandboxes', used: used.sandboxes, limit: limits.sandboxes, words: count },
    { name: 'CPU', used: used.cpu, limit: limits.cpu, words: cores },
    { name: 'Memory', used: used.memory_mb, limit: limits.memory_mb, words: formatMebibytes },
    { name: 'Disk', used: used.disk_mb, limit: limits.disk_mb, words: formatMebibytes },
  ];
  return (
    <div className="figures">
      {amounts.map(({ name, used: has, limit, words }) =>
        limit === null ? (
          <div className="figure" key={name}>
            <span className="name">{name}</span>
            <strong>{words(has)}</strong>
          </div>
        ) : (
          <Meter
            key={name}
            className="figure"
            value={has}
            maxValue={Math.max(limit, 1)}
            valueLabel={`${words === cores ? count(has) : words(has)} of ${words(limit)}`}
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
      )}
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
