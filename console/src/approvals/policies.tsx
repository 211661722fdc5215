import { Link } from 'wouter';
import { call } from '../api/client.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button } from '../parts/controls.tsx';
import { Problem } from '../parts/feedback.tsx';
import { useAttempt } from '../parts/use-attempt.ts';

/** The permanent approvals, with a button to revoke each; nothing if there are none. */
export function Policies() {
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
              {policy.tool === 'start_preview' ? 'Previews of ' : `${policy.tool}, `}
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
                since {new Date(policy.created_at).toLocaleString()}
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
