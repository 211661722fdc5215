import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';

const FORGOTTEN_HOURS = 24;

/** Times out what no living function waits for, and forgets what ended a day ago; says how many timed out. */
export async function endApprovals({
  records,
  clock,
}: {
  readonly records: Pick<Records, 'approvals'>;
  readonly clock: Clock;
}): Promise<number> {
  const now = clock.now();
  const ended = await records.approvals.timeOut(now);
  await records.approvals.forget(new Date(now.getTime() - FORGOTTEN_HOURS * 3_600_000));
  return ended;
}
