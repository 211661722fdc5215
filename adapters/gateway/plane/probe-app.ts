import { PortholeError } from '#core/errors.ts';
import type { Preview, Readiness } from '#core/ports/preview-plane.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';

/** Long enough for a connection within the machine; a server that takes longer to accept does not listen yet. */
const PROBE_MS = 2_000;

/** Whether the app behind a preview takes connections, found out by making one. */
export async function probeApp(
  provider: Pick<SandboxProvider, 'dial'>,
  { sandboxId, targetPort }: Pick<Preview, 'sandboxId' | 'targetPort'>,
  signal?: AbortSignal,
): Promise<Readiness> {
  const limit = AbortSignal.timeout(PROBE_MS);
  try {
    const probe = await provider.dial(
      sandboxId,
      targetPort,
      signal === undefined ? limit : AbortSignal.any([signal, limit]),
    );
    probe.destroy();
    return { ready: true };
  } catch (error) {
    signal?.throwIfAborted();
    const code = error instanceof PortholeError ? error.code : undefined;
    const isGone = code === 'sandbox_not_running' || code === 'sandbox_not_found';
    return { ready: false, reason: isGone ? 'sandbox_stopped' : 'nothing_listens' };
  }
}
