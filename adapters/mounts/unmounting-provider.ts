import type { SandboxProvider } from '#core/sandboxes/sandbox-provider.ts';
import { changedProvider } from '#core/sandboxes/provider-layers.ts';

/**
 * A provider whose sandboxes lose their mounts before they end: processes that wait for an S3
 * server would outlast SIGKILL. One that ended by itself loses them when it is started again.
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
