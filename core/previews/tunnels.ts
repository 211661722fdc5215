import { actorOn, type Person } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { Records } from '../records.ts';
import { implicitRun, type ImplicitRunDeps, implicitRunId } from './implicit-run.ts';
import { listPreviews, stopPreview, type StopPreviewDeps } from './live-previews.ts';
import type { Preview } from './preview-plane.ts';
import { startPreview, type StartPreviewDeps } from './start-preview.ts';

type OpenTunnelDeps = StartPreviewDeps & ImplicitRunDeps;

/**
 * The tunnel of a sandbox's port: the preview of that port on the sandbox's implicit run. The same
 * port has the same tunnel until it is closed.
 * @throws PortholeError `tunnel_error`
 */
export async function openTunnel(
  deps: OpenTunnelDeps,
  caller: Person,
  sandbox: SandboxRecord,
  port: number,
  signal?: AbortSignal,
): Promise<Preview & { readonly url: string }> {
  try {
    if (!deps.plane.hasUrls) {
      throw new PortholeError('preview_not_enabled', 'previews have no URLs here', {
        remedy: 'set Sandbox__Preview__Enabled=true.',
      });
    }
    const run = await implicitRun(deps, sandbox);
    const { preview } = await startPreview(deps, { run, targetPort: port, by: actorOn(run, caller) }, signal);
    if (preview.url === null) throw new TypeError('a plane with URLs made a preview without one');
    return { ...preview, url: preview.url };
  } catch (error) {
    throw tunnelError(error);
  }
}

/** Maps errors to the bridge's format; internal and availability errors pass unchanged. */
function tunnelError(error: unknown): unknown {
  if (!(error instanceof PortholeError) || error.status === 500 || error.status === 503) return error;
  return new PortholeError('tunnel_error', `tunnel failed: ${error.message}`, { cause: error });
}

interface CloseTunnelDeps extends StopPreviewDeps {
  readonly records: Records;
}

/**
 * Closes the tunnel of a port for good: the next one has another URL. Does nothing if it does not
 * exist.
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
    // A concurrent request closed it.
    if (error instanceof PortholeError && error.code === 'preview_not_found') return;
    throw tunnelError(error);
  }
}
