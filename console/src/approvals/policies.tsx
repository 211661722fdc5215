import { Link } from 'wouter';
import { call } from '../api/client.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Problem } from '../parts/feedback.tsx';
import { useAttempt } from '../parts/use-attempt.ts';

/** What is approved without a question, and the way to have it asked again; nothing where all is asked. */
export function Policies() {
  const { value, reload } = useAnswer('GET /api/approval-policies', { query: { limit: 100 } }, 10_000);
  const { problem, attempt } = useAttempt();
  if (value === undefined || value.policies.length === 0) return null;
  const end = (id: string) =>
    void attempt(() => call('DELETE /api/approval-policies/{id}', { path: { id } })).then(reload);
  return (
    <section aria-labelledby="policies">
      <div className="section-head">
        <h2 id="policies">Approved without a question</h2>
      </div>
      {problem === undefined ? null : <Problem words={problem} />}
      <ul className="policies">
        {value.policies.map(({ policy_id: id, tool, run_id: run, owner, created_by: by, created_at: at }) => (
          <li key={id}>
            <span>
              {tool === 'start_preview' ? 'Previews' : tool}{' '}
              {run === null ? (
                `in all runs of ${owner}`
              ) : (
                <>
                  in <Link href={`/runs/${encodeURIComponent(run)}`}>one run</Link> of {owner}
                </>
              )}
              <span className="quiet">
                {' '}
                since {new Date(at).toLocaleString()}
                {by === owner ? '' : `, by ${by}`}
              </span>
            </span>
            <Button onPress={() => end(id)}>Ask again</Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
