import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';
import type { Logger } from '#handlers/services.ts';

/**
 * Ends the processes of every sandbox, so that nothing runs on when a person ends Porthole at the terminal. Files, previews and the wish to run stay: the next
 * start brings them back.
 */
export async function stopSandboxes({
  provider,
  log,
}: {
  readonly provider: SandboxProvider;
  readonly log: Logger;
}): Promise<void> {
  const ending: Promise<void>[] = [];
  for await (const id of provider.list()) {
    ending.push(
      provider
        .stop(id)
        .catch((error: unknown) => log.error({ err: error, sandbox_id: id }, 'sandbox not stopped')),
    );
  }
  await Promise.all(ending);
  if (ending.length > 0)
    log.info({ sandboxes: ending.length }, 'sandboxes stopped; the next start resumes them');
}
