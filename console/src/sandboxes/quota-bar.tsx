import { Label, Meter } from 'react-aria-components';
import { useAnswer } from '../live/use-live.ts';

/** The user's usage and quota, and the number of warm sandboxes. */
export function QuotaBar({ seen }: { readonly seen: string }) {
  const { value: quota } = useAnswer('GET /api/quota', {}, 15_000, seen);
  const { value: pool } = useAnswer('GET /v1/pool/stats', {}, 15_000, seen);
  if (quota === undefined) return null;
  const { used, limits } = quota;
  const amounts = [
    { name: 'Sandboxes', used: used.sandboxes, limit: limits.sandboxes, unit: '' },
    { name: 'CPU', used: used.cpu, limit: limits.cpu, unit: ' cores' },
    { name: 'Memory', used: used.memory_mb, limit: limits.memory_mb, unit: ' MiB' },
    { name: 'Disk', used: used.disk_mb, limit: limits.disk_mb, unit: ' MiB' },
  ];
  return (
    <div className="figures">
      {amounts.map(({ name, used: has, limit, unit }) =>
        limit === null ? (
          <div className="figure" key={name}>
            <span className="name">{name}</span>
            <strong>
              {has.toLocaleString()}
              {unit}
            </strong>
          </div>
        ) : (
          <Meter
            key={name}
            className="figure"
            value={has}
            maxValue={Math.max(limit, 1)}
            valueLabel={`${has.toLocaleString()} of ${limit.toLocaleString()}${unit}`}
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
