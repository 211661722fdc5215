import type { SandboxProvider } from '#core/sandboxes/sandbox-provider.ts';
import { changedProvider } from '#core/sandboxes/provider-layers.ts';

/**
 * A provider that unmounts a sandbox's buckets before the sandbox ends: processes that wait for an
 * S3 server would survive SIGKILL. If a sandbox ended by itself, its mounts are removed when it
 * starts again.
 */
export function unmountingProvider(
  provider: SandboxProvider,
  mounter: { unmountAll(sandboxId: string): Promise<void> },
): SandboxProvider {
  return changedProvider(provider, {
    async stop(id, signal) {
      await mounter.unmountAll(id);
      await provider.stop(id, signal);
    },

    async resume(id, signal) {
      const { state } = await provider.inspect(id, signal);
      if (state !== 'running') await mounter.unmountAll(id);
      await provider.resume(id, signal);
    },

    async destroy(id, signal) {
      await mounter.unmountAll(id);
      await provider.destroy(id, signal);
    },
  });
}
