import { onceOpen } from '#base/concurrency.ts';
import type { GuestCalls, SandboxProvider } from '#core/sandboxes/sandbox-provider.ts';

/**
 * Commands, ports and requests in the sandboxes of a provider. The client loads with the first one:
 * many functions call no guest.
 * @param answerWithin in ms; @default ANSWER_WITHIN
 */
export function guestCalls(provider: Pick<SandboxProvider, 'connect'>, answerWithin?: number): GuestCalls {
  const load = onceOpen(() => import('./guest-client.ts'));
  const guest = async (sandboxId: string) => {
    const { GuestClient } = await load();
    return new GuestClient({
      sandboxId,
      connect: (operation, signal) => provider.connect(sandboxId, operation, signal),
      answerWithin,
    });
  };
  return {
    exec: async (id, command, signal) => (await guest(id)).exec(command, signal),
    dial: async (id, port, signal) => (await guest(id)).dial(port, signal),
    callGuest: async (id, call, signal) => (await guest(id)).call(call, signal),
  };
}
