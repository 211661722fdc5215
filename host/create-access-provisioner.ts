import { PortholeError } from '#core/errors.ts';
import { type ProvisionAccess, provisionRuns, type ProvisionRunsDeps } from '#core/runs/agent-token.ts';
import type { Logger } from '#handlers/services.ts';

/** Introduces runs, and tells the log where that fails: agents then do without the command. */
export function createAccessProvisioner({
  log,
  ...deps
}: ProvisionRunsDeps & { readonly log: Logger }): ProvisionAccess {
  return async (sandboxId, signal) => {
    try {
      await provisionRuns(deps, sandboxId, signal);
    } catch (err) {
      // One that does not run is introduced to when it starts.
      const isDown = err instanceof PortholeError && err.code === 'sandbox_not_running';
      if (isDown || signal?.aborted) return;
      log.warn({ err, sandbox_id: sandboxId }, 'runs not introduced in their sandbox');
    }
  };
}
