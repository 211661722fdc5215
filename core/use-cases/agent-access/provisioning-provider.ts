import type { SandboxProvider } from '../../ports/sandbox-provider.ts';
import { changedProvider } from '../changed-provider.ts';

/** Introduces the runs of a sandbox in it. Never rejects: a run does its work without the `porthole` command, too. */
export type ProvisionAccess = (sandboxId: string, signal?: AbortSignal) => Promise<void>;

/** A provider that introduces a sandbox's runs anew when it starts again: what lay in its memory is gone. */
export function provisioningProvider(
  provider: SandboxProvider,
  provisionAccess: ProvisionAccess,
): SandboxProvider {
  return changedProvider(provider, {
    async resume(id, signal) {
      await provider.resume(id, signal);
      await provisionAccess(id, signal);
    },
  });
}
