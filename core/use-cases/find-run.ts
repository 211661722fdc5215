import { type Caller, mayUseRun } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { Records } from '../ports/records.ts';
import type { RunRecord } from '../ports/run-records.ts';
import { checkRunId } from '../rules/run-id.ts';

/**
 * The run, once it is certain that the caller may act on it. `agents` says whether the run's own agent may.
 * @throws PortholeError `invalid_run_id`, `run_not_found`, `foreign_run` (the reference answers 403 and not 404 here)
 */
export async function findRun(
  { records }: { readonly records: Records },
  caller: Caller,
  runId: string,
  { agents = false }: { readonly agents?: boolean } = {},
): Promise<RunRecord> {
  const run = await records.runs.get(checkRunId(runId));
  if (run === undefined) {
    throw new PortholeError('run_not_found', `Run ${runId} does not exist: POST /api/runs makes one.`);
  }
  if (!mayUseRun(caller, run, agents)) {
    throw new PortholeError('foreign_run', `Run ${runId} is not yours: use the credential of its owner.`);
  }
  return run;
}
