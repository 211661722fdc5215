import { call } from '../api/client.ts';
import { useOlderPages } from '../lists/filtered-list.tsx';
import { timeLeft } from '../live/clock.ts';
import { useNow } from '../live/use-live.ts';
import { Ago, Button, Pending, Problem, State } from '../parts/elements.tsx';

const PAGE = 20;
/** Poll interval of the newest page while one of its runs is active. */
const POLL_MS = 2_000;

interface RunHistoryProps {
  readonly toolId: string;
  /** A change reloads the newest page. */
  readonly seen: number;
  readonly current: string | undefined;
  readonly onShow: (runId: string) => void;
}

/** The runs of a tool, newest first, and whether their actions are still available. */
export function RunHistory({ toolId, seen, current, onShow }: RunHistoryProps) {
  const now = useNow();
  const {
    items: runs,
    problem,
    reload,
    showOlder,
  } = useOlderPages(
    async (after) => {
      const query = { tool_id: toolId, limit: PAGE, ...(after !== undefined && { after }) };
      const { runs, next } = await call('GET /api/v1/editor/tool-runs', { query });
      return { items: runs, next };
    },
    ({ run_id: id }) => id,
    String(seen),
    (items) => (items.some(({ status }) => status === 'running') ? POLL_MS : undefined),
  );
  if (runs === undefined) return <Pending words={problem} onRetry={reload} />;
  return (
    <>
      <Problem words={problem} onRetry={reload} />
      {runs.length === 0 ? <p className="quiet">Nothing has been run yet.</p> : null}
      <ul className="history">
        {runs.map((each) => {
          const left = Date.parse(each.expires_at) - now;
          return (
            <li key={each.run_id} aria-current={each.run_id === current ? 'true' : undefined}>
              <Button variant="plain" onPress={() => onShow(each.run_id)}>
                {each.action_id === null ? 'Run' : `Action ${each.action_id}`}{' '}
                <span className="id">…{each.run_id.slice(-6)}</span>
              </Button>
              <State value={each.status} />
              <span className="quiet">{left <= 0 ? 'expired' : `actions for ${timeLeft(left)}`}</span>
              <Ago at={each.created_at} />
            </li>
          );
        })}
      </ul>
      {showOlder === undefined ? null : <Button onPress={showOlder}>Show older ones</Button>}
    </>
  );
}
