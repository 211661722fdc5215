import { useEffect, useState } from 'react';
import { call } from '../api/client.ts';
import { useAnswer } from '../live/use-live.ts';
import { useAttempt } from '../parts/use-attempt.ts';
import { joinNewest, joinOlder, type RunPageOf } from './run-pages.ts';

const PAGE = 50;

export interface Runs {
  readonly runs: RunPageOf['runs'] | undefined;
  /** Whether older ones exist. */
  readonly more: boolean;
  readonly busy: boolean;
  readonly problem: string | undefined;
  readonly reload: () => void;
  readonly showMore: () => Promise<void>;
}

/** The user's runs, newest first. The newest are live; older pages are as loaded. */
export function useRuns(): Runs {
  const { value: newest, problem, reload } = useAnswer('GET /api/runs', { query: { limit: PAGE } }, 5_000);
  const [known, setKnown] = useState<RunPageOf>();
  const { busy, problem: missed, attempt } = useAttempt();
  useEffect(() => {
    if (newest !== undefined) setKnown((before) => joinNewest(before, newest));
  }, [newest]);
  const showMore = () =>
    attempt(async () => {
      if (known?.next == null) return;
      const older = await call('GET /api/runs', { query: { limit: PAGE, after: known.next } });
      setKnown((before) => before && joinOlder(before, older));
    });
  return {
    runs: known?.runs,
    more: known?.next != null,
    busy,
    problem: problem ?? missed,
    reload,
    showMore,
  };
}
