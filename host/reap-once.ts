/** One pass of the reaper; the next pass retries what it could not end. */
import { reap } from '#handlers/ops/scheduled.ts';
import { runOnce } from './run-once.ts';

await runOnce(reap);
