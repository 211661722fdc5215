import type { Records } from '../../ports/records.ts';
import type { SandboxProvider } from '../../ports/sandbox-provider.ts';
import { changedProvider } from '../changed-provider.ts';
import { refreshSkills } from './place-skills.ts';

export interface SkilledProviderDeps {
  readonly records: Pick<Records, 'sandboxes' | 'skills'>;
  /** Told of a sandbox whose skills could not be refreshed: it has those that it had. */
  readonly failed: (sandboxId: string, error: unknown) => void;
}

/** A provider that brings a sandbox's skills up to date when it starts again, whoever asked for that. */
export function skilledProvider(
  provider: SandboxProvider,
  { records, failed }: SkilledProviderDeps,
): SandboxProvider {
  return changedProvider(provider, {
    async resume(id, signal) {
      await provider.resume(id, signal);
      try {
        const sandbox = await records.sandboxes.get(id);
        if (sandbox !== undefined && sandbox.skills.length > 0) {
          await refreshSkills({ records, provider }, sandbox, signal);
        }
      } catch (error) {
        signal?.throwIfAborted();
        failed(id, error);
      }
    },
  });
}
