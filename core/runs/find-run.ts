import { type Caller, mayUseRun } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { ChannelAddress } from '../processes/guest.ts';
import type { Records } from '../records.ts';
import type { RunRecord } from './run-records.ts';

/** What the `porthole` command reads: where to call, and as whom. Lines of `name=value`. */
export function agentAccess(access: {
  readonly runId: string;
  readonly agentToken: string;
  readonly address: ChannelAddress;
}): string {
  const { runId, agentToken, address } = access;
  const where =
    address.kind === 'socket' ? `socket=${address.path}` : `url=${address.url.replace(/(?<!\/)\/+$/, '')}`;
  return `run=${runId}\ntoken=${agentToken}\n${where}\n`;
}

/**
 * Ours are `run_` + ULID; readers accept any id of this form, because runs may come from elsewhere.
 */
export const RUN_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** @throws PortholeError `invalid_run_id` */
function checkRunId(id: string): string {
  if (RUN_ID.test(id)) return id;
  throw new PortholeError(
    'invalid_run_id',
    `Invalid run id ${JSON.stringify(id.slice(0, 80))}: 1 to 64 letters, digits, "_" or "-" are accepted.`,
  );
}

/**
 * The run, if the caller may act on it. `agents`: whether the run's own agent may.
 * @throws PortholeError `invalid_run_id`, `run_not_found`, `foreign_run` (the reference answers 403
 * and not 404 here)
 */
export async function findRun(
  { records }: { readonly records: Records },
  caller: Caller,
  runId: string,
  { agents = false }: { readonly agents?: boolean } = {},
): Promise<RunRecord> {
  const run = await records.runs.get(checkRunId(runId));
  if (run === undefined) {
    throw new PortholeError('run_not_found', `Run ${runId} does not exist`, {
      remedy: 'POST /api/runs creates one.',
    });
  }
  if (!mayUseRun(caller, run, agents)) {
    throw new PortholeError('foreign_run', `Run ${runId} is not yours`, {
      remedy: 'use the credential of its owner.',
    });
  }
  return run;
}
