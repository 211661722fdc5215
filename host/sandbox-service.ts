import type { Clock } from '#core/ports/clock.ts';
import type { CatalogueImage } from '#core/ports/images.ts';
import type { Records } from '#core/ports/records.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';
import { activeProvider } from '#core/use-cases/active-provider.ts';
import {
  type ProvisionAccess,
  provisioningProvider,
} from '#core/use-cases/agent-access/provisioning-provider.ts';
import { cataloguedProvider } from '#core/use-cases/images/catalogued-provider.ts';
import { revivingProvider } from '#core/use-cases/reviving-provider.ts';
import type { SandboxActivity } from '#core/use-cases/sandbox-activity.ts';
import type { SandboxEventPublisher } from '#core/use-cases/sandbox-event-publisher.ts';
import { skilledProvider } from '#core/use-cases/skills/skilled-provider.ts';
import { publishingProvider } from '#core/use-cases/publishing-provider.ts';
import type { Logger } from '#handlers/services.ts';

/** A provider with everything around it that holds for each of them. */
export interface SandboxService {
  /** For callers: tells runs what becomes of their sandboxes, brings back what died, writes down what is in use. */
  readonly provider: SandboxProvider;
  /** For what looks after sandboxes itself: it neither brings back nor counts as use. */
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
