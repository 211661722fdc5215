import { endSandbox, type EndSandboxDeps } from './end-sandbox.ts';
import { stopSandbox } from './resume-sandbox.ts';
import { isTimedOut } from './sandbox-lifecycle.ts';
import type { SandboxRecord } from './sandbox-records.ts';

/**
 * Ends a sandbox after its time now, where a lifecycle pass would within a minute.
 * @returns the sandbox; undefined: it is deleted
 */
export async function endTimedOut(
  deps: EndSandboxDeps,
  sandbox: SandboxRecord,
): Promise<SandboxRecord | undefined> {
  if (!isTimedOut(sandbox, deps.clock.now())) return sandbox;
  if (sandbox.onTimeout === 'stop') return { ...(await stopSandbox(deps, sandbox)), timeoutAt: null };
  await endSandbox(deps, sandbox);
  return undefined;
}
