import { guestCalls } from '#adapters/guest/guest-calls.ts';
import type { GuestCalls, SandboxProvider } from '#core/sandboxes/sandbox-provider.ts';

/** A provider, and what happens inside its sandboxes. */
export type TestProvider = SandboxProvider & GuestCalls;

/** Adds the calls of guests to a provider. */
export function withGuests<P extends SandboxProvider>(provider: P, answerWithin?: number): P & GuestCalls {
  return Object.assign(provider, guestCalls(provider, answerWithin));
}
