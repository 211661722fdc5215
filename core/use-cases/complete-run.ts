import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';
import type { RunRecord } from '../ports/run-records.ts';
import { runCompleted } from '../rules/run-events.ts';
import type { Introduce } from './agent-access/introducing-provider.ts';

export interface CompleteRunDeps {
  readonly records: Pick<Records, 'runs'>;
  readonly clock: Clock;
  readonly introduce: Introduce;
}

/** Ends a run: its agent's token is dead from then on and goes from its sandbox, and what it asked a person is withdrawn. Completing it again changes nothing. */
export async function completeRun(
  { records, clock, introduce }: CompleteRunDeps,
  run: RunRecord,
): Promise<RunRecord> {
  const completed = await records.runs.complete(run.id, clock.now(), [runCompleted()]);
  await introduce(run.sandboxId);
  return completed ?? run;
}
