/** One pass of the reaper; what could not be ended, the next one finds again. */
import { reap } from '#handlers/ops/scheduled.ts';
import { runOnce } from './run-once.ts';

await runOnce(reap);
