/** One pass over the lives of all sandboxes; what could not be done, the next one finds again. */
import { runLifecyclePass } from '#handlers/ops/scheduled.ts';
import { runOnce } from './run-once.ts';

await runOnce(runLifecyclePass);
