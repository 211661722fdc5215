import { PortholeError } from '#core/errors.ts';
import type { Introduce } from '#core/use-cases/agent-access/introducing-provider.ts';
import { introduceRuns, type IntroduceRunsDeps } from '#core/use-cases/agent-access/introduce-runs.ts';
import type { Logger } from '#handlers/services.ts';

/** Introduces runs, and tells the log where that fails: agents then do without the command. */
export function createIntroduce({ log, ...deps }: IntroduceRunsDeps & { readonly log: Logger }): Introduce {
  return async (sandboxId, signal) => {
    try {
      await introduceRuns(deps, sandboxId, signal);
    } catch (err) {
      // One that does not run is introduced to when it starts.
      const isDown = err instanceof PortholeError && err.code === 'sandbox_not_running';
      if (isDown || signal?.aborted) return;
      log.warn({ err, sandbox_id: sandboxId }, 'runs not introduced in their sandbox');
    }
  };
}
