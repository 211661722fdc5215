import { guestCalls } from '#adapters/guest/guest-calls.ts';
import { PortholeError } from '#base/errors.ts';
import { guestsOf, type Channel } from '#core/processes/guest.ts';
import { type ProvisionAccess, provisionRuns, type ProvisionRunsDeps } from '#core/runs/agent-token.ts';
import type { GuestCalls, SandboxProvider } from '#core/sandboxes/sandbox-provider.ts';
import { SandboxService, type SandboxServiceDeps } from '#core/sandboxes/sandbox-service.ts';
import { countLastUsage } from '#core/usage/count-usage.ts';
import type { Logger } from '#handlers/services.ts';
import type { Config } from '../config/config.ts';
import type { PlatformDeps } from './platform.ts';

export interface PlatformSandboxes {
  readonly provider: SandboxProvider;
  readonly channel: Channel;
  readonly images: Config['images'];
  readonly mounter?: SandboxServiceDeps['mounter'];
  /** @see SandboxServiceDeps.attachPreviews; it may reject here */
  readonly attachPreviews?: SandboxServiceDeps['attachPreviews'];
}

/** The sandboxes of a platform, with what runs in them. */
export function createSandboxService(
  deps: Pick<PlatformDeps, 'records' | 'tokens' | 'clock' | 'publisher' | 'activity' | 'log'>,
  { provider, channel, images, mounter, attachPreviews }: PlatformSandboxes,
): {
  readonly sandboxes: SandboxService;
  readonly guests: GuestCalls;
  readonly provisionAccess: ProvisionAccess;
} {
  const { records, tokens, clock, publisher, activity, log } = deps;
  const guests = guestCalls(provider);
  const provisionAccess = createAccessProvisioner({ records, tokens, sandboxes: guests, channel, log });
  const sandboxes = new SandboxService({
    provider,
    guests,
    records,
    clock,
    publisher,
    activity,
    provisionAccess,
    images,
    mounter,
    attachPreviews: (id, isRunning, signal) =>
      attachPreviews?.(id, isRunning, signal).catch((err: unknown) =>
        log.warn({ err, sandbox_id: id }, 'previews not attached or detached: the next pass tries again'),
      ) ?? Promise.resolve(),
    countLastUsage: (id, ending) =>
      countLastUsage(
        {
          records,
          sandboxes: provider,
          guests: guestsOf(guests),
          clock,
          failed: (_, err) => log.warn({ err, sandbox_id: id }, 'usage before a stop not counted'),
        },
        id,
        ending,
      ),
    skillsFailed: (id, err) =>
      log.error({ err, sandbox_id: id }, 'skills not refreshed: the sandbox has those that it had'),
  });
  return { sandboxes, guests, provisionAccess };
}

/**
 * Provisions agent credentials for runs, and logs failures: agents then work without the command.
 */
function createAccessProvisioner({
  log,
  ...deps
}: ProvisionRunsDeps & { readonly log: Logger }): ProvisionAccess {
  return async (sandboxId, signal) => {
    try {
      await provisionRuns(deps, sandboxId, signal);
    } catch (err) {
      // A stopped sandbox is provisioned when it starts.
      const isDown = err instanceof PortholeError && err.code === 'sandbox_not_running';
      if (isDown || signal?.aborted) return;
      log.warn({ err, sandbox_id: sandboxId }, 'runs not introduced in their sandbox');
    }
  };
}
