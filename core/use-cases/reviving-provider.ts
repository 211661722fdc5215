import { PortholeError } from '../errors.ts';
import type { Records } from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { changedProvider } from './changed-provider.ts';

/**
 * A provider that brings a sandbox back when a command is to run in it and it has died by itself: killed from within, or with its machine. What was wanted decides: one that was
 * stopped on purpose stays stopped. Files are there again; what ran in it is not.
 */
export function revivingProvider(
  provider: SandboxProvider,
  records: Pick<Records, 'sandboxes'>,
): SandboxProvider {
  const isWanted = async (id: string) => (await records.sandboxes.get(id))?.desired === 'running';
  return changedProvider(provider, {
    async exec(id, command, signal) {
      try {
        return await provider.exec(id, command, signal);
      } catch (error) {
        const isDown = error instanceof PortholeError && error.code === 'sandbox_not_running';
        if (!isDown || !(await isWanted(id))) throw error;
      }
      await provider.resume(id, signal);
      return provider.exec(id, command, signal);
    },
  });
}
