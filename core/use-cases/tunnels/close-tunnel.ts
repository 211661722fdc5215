import { actorOn, type Person } from '../../callers.ts';
import { PortholeError } from '../../errors.ts';
import type { Records } from '../../ports/records.ts';
import type { SandboxRecord } from '../../ports/sandbox-records.ts';
import { listPreviews } from '../list-previews.ts';
import { stopPreview, type StopPreviewDeps } from '../stop-preview.ts';
import { implicitRunId } from './implicit-run.ts';
import { tunnelError } from './open-tunnel.ts';

export interface CloseTunnelDeps extends StopPreviewDeps {
  readonly records: Records;
}

/**
 * Closes the tunnel of a port for good: the next one has another URL. Does nothing where there is none.
 * @throws PortholeError `tunnel_error`
 */
export async function closeTunnel(
  deps: CloseTunnelDeps,
  caller: Person,
  sandbox: SandboxRecord,
  port: number,
  signal?: AbortSignal,
): Promise<void> {
  try {
    const run = await deps.records.runs.get(implicitRunId(sandbox));
    if (run === undefined) return;
    const live = (await listPreviews(deps, run, signal)).find(({ targetPort }) => targetPort === port);
    if (live !== undefined)
      await stopPreview(deps, { run, token: live.token, by: actorOn(run, caller) }, signal);
  } catch (error) {
    // Somebody else has closed it meanwhile.
    if (error instanceof PortholeError && error.code === 'preview_not_found') return;
    throw tunnelError(error);
  }
}
