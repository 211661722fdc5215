import { useCallback, useEffect, useRef, useState } from 'react';
import { type Answer, call } from '../api/client.ts';
import { timeAgo, timeLeft } from '../live/clock.ts';
import { problemOf, useNow, useVisible } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Loading, Problem, State } from '../parts/feedback.tsx';

type Page = Answer<'GET /api/v1/editor/tool-runs'>;
type Summary = Page['runs'][number];

const PAGE = 20;
/** Poll interval of the newest page while one of its runs is active. */
const POLL_MS = 2_000;

export interface RunHistoryProps {
  readonly toolId: string;
  /** A change reloads the newest page. */
  readonly seen: number;
  readonly current: string | undefined;
  readonly onShow: (runId: string) => void;
}

/** The runs of a tool, newest first, and whether their actions are still available. */
export function RunHistory({ toolId, seen, current, onShow }: RunHistoryProps) {
  const [runs, setRuns] = useState<readonly Summary[]>();
  const [next, setNext] = useState<string | null>(null);
  const [problem, setProblem] = useState<string>();
  const now = useNow();
  const visible = useVisible();
  const begun = useRef(false);
  const read = useCallback(
    async (after?: string) => {
      try {
        const query = { tool_id: toolId, limit: PAGE, ...(after === undefined ? {} : { after }) };
        const page = await call('GET /api/v1/editor/tool-runs', { query });
        setProblem(undefined);
        const isNewest = after === undefined;
        setRuns((before = []) => (isNewest ? joined(page.runs, before) : joined(before, page.runs)));
        // Reloading the newest page does not change the cursor of the older pages.
        if (!isNewest || !begun.current) setNext(page.next);
        begun.current = true;
      } catch (error) {
        setProblem(problemOf(error));
      }
    },
    [toolId],
  );
  useEffect(() => {
    void read();
  }, [read, seen]);
  const isUnderWay = runs?.some(({ status }) => status === 'running') === true;
  useEffect(() => {
    if (!isUnderWay || !visible) return undefined;
    const timer = setInterval(() => void read(), POLL_MS);
    return () => clearInterval(timer);
  }, [isUnderWay, visible, read]);
  if (runs === undefined) {
    return problem === undefined ? <Loading /> : <Problem words={problem} onRetry={() => void read()} />;
  }
  return (
    <>
      {problem === undefined ? null : <Problem words={problem} onRetry={() => void read()} />}
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
              <time dateTime={each.created_at}>{timeAgo(now - Date.parse(each.created_at))}</time>
            </li>
          );
        })}
      </ul>
      {next === null ? null : <Button onPress={() => void read(next)}>Show older ones</Button>}
    </>
  );
}

/** Merges both, newest first, each run once, preferring the first list. */
function joined(newer: readonly Summary[], older: readonly Summary[]): readonly Summary[] {
  const known = new Set(newer.map(({ run_id: id }) => id));
  return [...newer, ...older.filter(({ run_id: id }) => !known.has(id))];
}
