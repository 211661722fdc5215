import type { Clock } from '#core/ports/clock.ts';
import type { CatalogueImage } from '#core/ports/images.ts';
import type { Records } from '#core/ports/records.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';
import { activeProvider } from '#core/use-cases/active-provider.ts';
import { type Introduce, introducingProvider } from '#core/use-cases/agent-access/introducing-provider.ts';
import { cataloguedProvider } from '#core/use-cases/images/catalogued-provider.ts';
import { revivingProvider } from '#core/use-cases/reviving-provider.ts';
import type { SandboxActivity } from '#core/use-cases/sandbox-activity.ts';
import type { SandboxNews } from '#core/use-cases/sandbox-news.ts';
import { skilledProvider } from '#core/use-cases/skills/skilled-provider.ts';
import { tellingProvider } from '#core/use-cases/telling-provider.ts';
import type { Logger } from '#handlers/services.ts';

/** A provider with everything around it that holds for each of them. */
export interface TendedProvider {
  /** For callers: tells runs what becomes of their sandboxes, brings back what died, writes down what is in use. */
  readonly provider: SandboxProvider;
  /** For what looks after sandboxes itself: it neither brings back nor counts as use. */
  readonly told: SandboxProvider;
}

export function tendProvider(
  own: SandboxProvider,
  {
    records,
    clock,
    news,
    activity,
    introduce,
    images,
    log,
  }: {
    readonly records: Records;
    readonly clock: Clock;
    readonly news: SandboxNews;
    readonly activity: SandboxActivity;
    readonly introduce: Introduce;
    readonly images: readonly CatalogueImage[];
    readonly log: Logger;
  },
): TendedProvider {
  const catalogued = cataloguedProvider(own, { records, images, provider: own });
  const skilled = skilledProvider(catalogued, {
    records,
    failed: (id, err) =>
      log.error({ err, sandbox_id: id }, 'skills not refreshed: the sandbox has those that it had'),
  });
  const told = introducingProvider(tellingProvider(skilled, { records, clock, news }), introduce);
  return { told, provider: activeProvider(revivingProvider(told, records), activity) };
}
