import type { Clock } from '#core/shared/clock-and-ids.ts';
import type { CatalogueImage } from '#core/images/image-store.ts';
import type { Records } from '#core/shared/records.ts';
import type { SandboxProvider } from '#core/sandboxes/sandbox-provider.ts';
import { activeProvider, revivingProvider, publishingProvider } from '#core/sandboxes/provider-layers.ts';
import { type ProvisionAccess, provisioningProvider } from '#core/runs/agent-token.ts';
import { cataloguedProvider } from '#core/images/image-catalogue.ts';
import type { SandboxActivity } from '#core/sandboxes/sandbox-activity.ts';
import type { SandboxEventPublisher } from '#core/sandboxes/sandbox-event-publisher.ts';
import { skilledProvider } from '#core/skills/place-skills.ts';
import type { Logger } from '#handlers/services.ts';

/** A provider with the decorators that apply to all providers. */
export interface SandboxService {
  /**
   * For callers: publishes the events of sandboxes to their runs, restarts dead ones, records use.
   */
  readonly provider: SandboxProvider;
  /** For controllers: does not restart sandboxes, and does not count as use. */
  readonly published: SandboxProvider;
}

export function createSandboxService(
  own: SandboxProvider,
  {
    records,
    clock,
    publisher,
    activity,
    provisionAccess,
    images,
    log,
  }: {
    readonly records: Records;
    readonly clock: Clock;
    readonly publisher: SandboxEventPublisher;
    readonly activity: SandboxActivity;
    readonly provisionAccess: ProvisionAccess;
    readonly images: readonly CatalogueImage[];
    readonly log: Logger;
  },
): SandboxService {
  const catalogued = cataloguedProvider(own, { records, images, provider: own });
  const skilled = skilledProvider(catalogued, {
    records,
    failed: (id, err) =>
      log.error({ err, sandbox_id: id }, 'skills not refreshed: the sandbox has those that it had'),
  });
  const published = provisioningProvider(
    publishingProvider(skilled, { records, clock, publisher }),
    provisionAccess,
  );
  return { published, provider: activeProvider(revivingProvider(published, records), activity) };
}
