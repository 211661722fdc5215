import { PortholeError } from '#core/errors.ts';
import type { Duplex } from 'node:stream';
import type { Guests } from '#core/ports/guest.ts';
import { GuestClient } from './guest-client.ts';

/** The guests of a provider that connects to them. */
export function guestsOf(provider: { connect(id: string, signal?: AbortSignal): Promise<Duplex> }): Guests {
  return {
    of: (sandboxId) =>
      new GuestClient({ sandboxId, connect: (signal) => provider.connect(sandboxId, signal) }),
  };
}

/** For providers whose sandboxes have no guest yet. */
export function withoutGuests(provider: string): Guests {
  return {
    of() {
      throw new PortholeError(
        'processes_not_supported',
        `Sandboxes of the provider ${provider} have no processes, servers and ports yet: run commands with POST …/exec.`,
      );
    },
  };
}
