import type { SandboxProvider } from '../../ports/sandbox-provider.ts';

/** Introduces the runs of a sandbox in it. Never rejects: a run does its work without the `porthole` command, too. */
export type Introduce = (sandboxId: string, signal?: AbortSignal) => Promise<void>;

/** A provider that introduces a sandbox's runs anew when it starts again: what lay in its memory is gone. */
export function introducingProvider(provider: SandboxProvider, introduce: Introduce): SandboxProvider {
  return {
    name: provider.name,
    create: (spec, signal) => provider.create(spec, signal),
    inspect: (id, signal) => provider.inspect(id, signal),
    stop: (id, signal) => provider.stop(id, signal),
    destroy: (id, signal) => provider.destroy(id, signal),
    exec: (id, command, signal) => provider.exec(id, command, signal),
    dial: (id, port, signal) => provider.dial(id, port, signal),
    list: (signal) => provider.list(signal),
    close: () => provider.close(),

    async resume(id, signal) {
      await provider.resume(id, signal);
      await introduce(id, signal);
    },
  };
}
