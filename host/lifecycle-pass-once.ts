/** One lifecycle pass over all sandboxes; the next pass retries what it could not do. */
import { runLifecyclePass } from '#handlers/ops/scheduled.ts';
import { runOnce } from './run-once.ts';

await runOnce(runLifecyclePass);
