import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';

/**
 * A provider whose sandboxes lose their mounts before they end: processes that wait for an S3 server would outlast SIGKILL. One that ended by itself loses them
 * when it is started again.
 */
export function unmountingProvider<P extends SandboxProvider>(
  provider: P,
  mounter: { unmountAll(sandboxId: string): Promise<void> },
): SandboxProvider {
  return {
    name: provider.name,
    create: (spec, signal) => provider.create(spec, signal),
    inspect: (id, signal) => provider.inspect(id, signal),
    exec: (id, command, signal) => provider.exec(id, command, signal),
    dial: (id, port, signal) => provider.dial(id, port, signal),
    list: (signal) => provider.list(signal),
    close: () => provider.close(),

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
  };
}
