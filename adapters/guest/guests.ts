import { PortholeError } from '#core/errors.ts';
import type { Guests } from '#core/ports/guest.ts';

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
