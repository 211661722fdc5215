import { PortholeError } from '../errors.ts';
import type { Records } from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';

/**
 * A provider that brings a sandbox back when a command is to run in it and it has died by itself: killed from within, or with its machine. What was wanted decides: one that was
 * stopped on purpose stays stopped. Files are there again; what ran in it is not.
 */
export function revivingProvider(
  provider: SandboxProvider,
  records: Pick<Records, 'sandboxes'>,
): SandboxProvider {
  const isWanted = async (id: string) => (await records.sandboxes.get(id))?.desired === 'running';
  return {
    name: provider.name,
    create: (spec, signal) => provider.create(spec, signal),
    inspect: (id, signal) => provider.inspect(id, signal),
    stop: (id, signal) => provider.stop(id, signal),
    resume: (id, signal) => provider.resume(id, signal),
    destroy: (id, signal) => provider.destroy(id, signal),
    dial: (id, port, signal) => provider.dial(id, port, signal),
    list: (signal) => provider.list(signal),
    close: () => provider.close(),

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
  };
}
