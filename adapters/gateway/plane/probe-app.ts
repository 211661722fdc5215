import { PortholeError } from '#core/errors.ts';
import type { Preview, Readiness } from '#core/ports/preview-plane.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';
import { isNotHttp } from '#core/rules/doctor/port-advice.ts';
import { askForPage } from '../app-probe.ts';

/** Long enough for a connection within the machine; a server that takes longer to accept does not listen yet. */
const PROBE_MS = 2_000;

/**
 * A server that has not answered by then counts as one that speaks HTTP: dev servers compile their
 * first page.
 */
const ANSWER_MS = 500;

/**
 * Whether the app behind a preview takes connections, found out by making one; where the preview
 * has a URL, also whether it speaks HTTP.
 */
export async function probeApp(
  provider: Pick<SandboxProvider, 'dial'>,
  { sandboxId, targetPort, url }: Pick<Preview, 'sandboxId' | 'targetPort' | 'url'>,
  signal?: AbortSignal,
): Promise<Readiness> {
  const limit = AbortSignal.timeout(PROBE_MS);
  try {
    const probe = await provider.dial(
      sandboxId,
      targetPort,
      signal === undefined ? limit : AbortSignal.any([signal, limit]),
    );
    if (url === null) probe.destroy();
    else if (isNotHttp(await askForPage(probe, targetPort, ANSWER_MS, signal))) {
      return { ready: false, reason: 'not_http' };
    }
    return { ready: true };
  } catch (error) {
    signal?.throwIfAborted();
    const code = error instanceof PortholeError ? error.code : undefined;
    const isGone = code === 'sandbox_not_running' || code === 'sandbox_not_found';
    return { ready: false, reason: isGone ? 'sandbox_stopped' : 'nothing_listens' };
  }
}
