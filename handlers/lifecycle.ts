import { keepLifecycle, type LifecyclePass } from '#core/use-cases/keep-lifecycle.ts';
import { type OrphanReport, collectOrphans } from '#core/use-cases/collect-orphans.ts';
import type { Services } from './services.ts';

type LifecycleServices = Pick<
  Services,
  | 'records'
  | 'provider'
  | 'plane'
  | 'tokens'
  | 'clock'
  | 'place'
  | 'life'
  | 'collectsOrphans'
  | 'archives'
  | 'log'
>;

export type LifecycleReport = LifecyclePass & OrphanReport;

/**
 * The scheduled function that stops idle sandboxes, destroys those that were stopped for too long, finishes what a crash left half done, and looks after strays. Runs every
 * minute; two at once do no harm.
 */
export async function runLifecyclePass(
  services: LifecycleServices,
  signal?: AbortSignal,
): Promise<LifecycleReport> {
  const { life: limits, collectsOrphans, archives, log } = services;
  const failed = (id: string, err: unknown) =>
    log.error({ err, sandbox_id: id }, 'sandbox not looked after: the next pass tries again');
  const done = await keepLifecycle({ ...services, limits, failed, archive: archives?.keep }, signal);
  const orphans = collectsOrphans ? await collectOrphans({ ...services, failed }, signal) : NO_ORPHANS;
  await forgetOld(services);
  const report = { ...done, ...orphans };
  if (Object.values(report).some((count) => count > 0)) log.info(report, 'lifecycle pass');
  else log.debug(report, 'lifecycle pass');
  return report;
}

/** What is told of a sandbox is for those who come back soon; a delegation or a session that has expired is nothing to anybody. In milliseconds. */
const EVENTS_KEPT_MS = 86_400_000;
const EXPIRED_KEPT_MS = 3_600_000;

async function forgetOld({ records, clock }: Pick<LifecycleServices, 'records' | 'clock'>): Promise<void> {
  const now = clock.now().getTime();
  await records.sandboxEvents.forget(new Date(now - EVENTS_KEPT_MS));
  await records.delegations.forget(new Date(now - EXPIRED_KEPT_MS));
  await records.endedSessions.forget(new Date(now - EXPIRED_KEPT_MS));
}

const NO_ORPHANS: OrphanReport = { adopted: 0, removed: 0 };
