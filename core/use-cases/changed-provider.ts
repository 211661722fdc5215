import type { SandboxProvider } from '../ports/sandbox-provider.ts';

/** The provider, with some of its methods done otherwise; those mostly do something around the provider's own. */
export function changedProvider(
  provider: SandboxProvider,
  changes: Partial<Omit<SandboxProvider, 'name' | 'defaultSize'>>,
): SandboxProvider {
  return {
    name: provider.name,
    defaultSize: provider.defaultSize,
    enforcement: (network) => provider.enforcement(network),
    runsImage: (reference, signal) => provider.runsImage(reference, signal),
    create: (spec, signal) => provider.create(spec, signal),
    inspect: (id, signal) => provider.inspect(id, signal),
    stop: (id, signal) => provider.stop(id, signal),
    resume: (id, signal) => provider.resume(id, signal),
    destroy: (id, signal) => provider.destroy(id, signal),
    exec: (id, command, signal) => provider.exec(id, command, signal),
    dial: (id, port, signal) => provider.dial(id, port, signal),
    callGuest: (id, call, signal) => provider.callGuest(id, call, signal),
    list: (signal) => provider.list(signal),
    close: () => provider.close(),
    ...changes,
  };
}
