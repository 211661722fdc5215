import type { GuestAnswer, GuestCall, SandboxProvider } from '../ports/sandbox-provider.ts';
import { PortholeError } from '../errors.ts';

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
    callGuest: provider.callGuest && ((id, call, signal) => callGuest(provider, id, call, signal)),
    list: (signal) => provider.list(signal),
    close: () => provider.close(),
    ...changes,
  };
}

/** @throws PortholeError `guest_required` where sandboxes have no guest, and as `callGuest` does */
export function callGuest(
  provider: Pick<SandboxProvider, 'callGuest'>,
  id: string,
  call: GuestCall,
  signal?: AbortSignal,
): Promise<GuestAnswer> {
  if (provider.callGuest !== undefined) return provider.callGuest(id, call, signal);
  throw guestRequired();
}

export function guestRequired(): PortholeError {
  return new PortholeError(
    'guest_required',
    'The sandboxes of this Porthole have no guest program, which this needs: use a command instead.',
  );
}
