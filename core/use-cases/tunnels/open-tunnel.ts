import { actorOn, type Person } from '../../callers.ts';
import { PortholeError } from '../../errors.ts';
import type { Preview } from '../../ports/preview-plane.ts';
import type { SandboxRecord } from '../../ports/sandbox-records.ts';
import { startPreview, type StartPreviewDeps } from '../start-preview.ts';
import { implicitRun, type ImplicitRunDeps } from './implicit-run.ts';

export type OpenTunnelDeps = StartPreviewDeps & ImplicitRunDeps;

/**
 * The tunnel of a sandbox's port: the preview of that port on the sandbox's implicit run. The same port has the same tunnel until it is closed.
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
      throw new PortholeError(
        'preview_not_enabled',
        'previews have no URLs here: set Sandbox__Preview__Enabled=true.',
      );
    }
    const run = await implicitRun(deps, sandbox);
    const { preview } = await startPreview(deps, { run, targetPort: port, by: actorOn(run, caller) }, signal);
    if (preview.url === null) throw new TypeError('a plane with URLs made a preview without one');
    return { ...preview, url: preview.url };
  } catch (error) {
    throw tunnelError(error);
  }
}

/** In the bridge's words; what is no fault of the tunnel's stays as it is. */
export function tunnelError(error: unknown): unknown {
  if (!(error instanceof PortholeError) || error.status === 500 || error.status === 503) return error;
  return new PortholeError('tunnel_error', `tunnel failed: ${error.message}`, { cause: error });
}
