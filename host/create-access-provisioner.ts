import { PortholeError } from '#core/errors.ts';
import { type ProvisionAccess, provisionRuns, type ProvisionRunsDeps } from '#core/runs/agent-token.ts';
import type { Logger } from '#handlers/services.ts';

/**
 * Provisions agent credentials for runs, and logs failures: agents then work without the command.
 */
export function createAccessProvisioner({
  log,
  ...deps
}: ProvisionRunsDeps & { readonly log: Logger }): ProvisionAccess {
  return async (sandboxId, signal) => {
    try {
      await provisionRuns(deps, sandboxId, signal);
    } catch (err) {
      // A stopped sandbox is provisioned when it starts.
      const isDown = err instanceof PortholeError && err.code === 'sandbox_not_running';
      if (isDown || signal?.aborted) return;
      log.warn({ err, sandbox_id: sandboxId }, 'runs not introduced in their sandbox');
    }
  };
}
