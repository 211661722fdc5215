import type { Api } from '../api/api.ts';

export type RunPageOf = Api['GET /api/runs']['answer'];

/** Merges known runs with the newest page, without gaps, each run in its latest state. */
export function joinNewest(known: RunPageOf | undefined, newest: RunPageOf): RunPageOf {
  if (known === undefined || newest.next === null) return newest;
  const ids = new Set(newest.runs.map(({ run_id: id }) => id));
  // With this many new runs, there may be others between them and the known ones.
  if (!known.runs.some(({ run_id: id }) => ids.has(id))) return newest;
  const older = known.runs.filter(({ run_id: id }) => !ids.has(id));
  return { ...newest, runs: [...newest.runs, ...older], next: older.length === 0 ? newest.next : known.next };
}

/** Appends the next older page. */
export function joinOlder(known: RunPageOf, older: RunPageOf): RunPageOf {
  const ids = new Set(known.runs.map(({ run_id: id }) => id));
  return { ...older, runs: [...known.runs, ...older.runs.filter(({ run_id: id }) => !ids.has(id))] };
}

export interface RunFilter {
  /** Matches title, id, sandbox or owner, ignoring case. */
  readonly text: string;
  readonly status: 'any' | 'running' | 'completed';
}

export function matches(
  { title, run_id: id, sandbox_id: sandbox, owner, status }: RunPageOf['runs'][number],
  filter: RunFilter,
): boolean {
  if (filter.status !== 'any' && status !== filter.status) return false;
  const wanted = filter.text.trim().toLowerCase();
  return [title ?? '', id, sandbox, owner].some((each) => each.toLowerCase().includes(wanted));
}
