import { Amounts, runAmounts, sandboxAmounts } from '../lists/amounts.tsx';
import { formatMebibytes } from '../live/clock.ts';
import { useAnswer } from '../live/use-live.ts';
import { CountedUsage } from './counted-usage.tsx';
import { Fact, Pending, Problem } from '../parts/elements.tsx';

const EVERY_MS = 15_000;

/** What the person uses, and the limits that apply. */
export function Usage() {
  const { value: quota, problem, reload } = useAnswer('GET /api/quota', {}, EVERY_MS);
  if (quota === undefined) return <Pending words={problem} onRetry={reload} />;
  const { default_size: size, enforced_by: by } = quota;
  const limits = [
    { name: 'CPU', amount: `${size.cpu} ${size.cpu === 1 ? 'core' : 'cores'}`, by: by.cpu },
    { name: 'Memory', amount: formatMebibytes(size.memory_mb), by: by.memory_mb },
    { name: 'Disk', amount: formatMebibytes(size.disk_mb), by: by.disk_mb },
  ];
  const isUnlimited = Object.values(quota.limits).every((limit) => limit === null);
  return (
    <>
      <Problem words={problem} onRetry={reload} />
      <section aria-labelledby="yours">
        <div className="section-head">
          <h2 id="yours">Your usage</h2>
        </div>
        <div className="figures">
          <Amounts amounts={[...runAmounts(quota), ...sandboxAmounts(quota)]} />
        </div>
        <p className="quiet">
          CPU and memory count for running sandboxes, disk for stopped ones as well.
          {isUnlimited ? ' You have no quotas here: only the machine limits you.' : ''}
        </p>
      </section>
      <CountedUsage />
      <section aria-labelledby="each">
        <div className="section-head">
          <h2 id="each">Each sandbox</h2>
        </div>
        <p className="quiet">What a new sandbox gets unless it asks for another size.</p>
        <dl className="facts-list">
          {limits.map(({ name, amount, by: enforcer }) => (
            <Fact key={name} name={name}>
              {amount}{' '}
              <span className="quiet">
                {enforcer === null ? 'not enforced on this machine' : `enforced by ${enforcer}`}
              </span>
            </Fact>
          ))}
          <Fact name="Network off">
            {by.network === null ? (
              <span className="quiet">not enforced on this machine</span>
            ) : (
              `enforced by ${by.network}`
            )}
          </Fact>
        </dl>
      </section>
    </>
  );
}
