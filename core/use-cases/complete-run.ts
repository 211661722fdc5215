import type { Clock } from '../ports/clock.ts';
import type { Records, RunRecord } from '../ports/records.ts';
import { runCompleted } from '../rules/run-events.ts';

/** Ends a run: its agent's token is dead from then on. Completing it again changes nothing. */
export async function completeRun(
  { records, clock }: { readonly records: Pick<Records, 'runs'>; readonly clock: Clock },
  run: RunRecord,
): Promise<RunRecord> {
  return (await records.runs.complete(run.id, clock.now(), [runCompleted()])) ?? run;
}
