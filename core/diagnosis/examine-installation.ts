import type { Clock } from '#base/clock-and-ids.ts';
import type { CatalogueImage } from '../images/image-store.ts';
import type { GatewayState, PreviewPlane } from '../previews/preview-plane.ts';
import type { Records } from '../records.ts';
import type { Enforcement, QuotaCount, Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { WarmPool, WarmPoolStats } from '../sandboxes/warm-pool.ts';
import type { DueWebhook, Webhook } from '../webhooks/webhook-store.ts';

export const CHECK_STATES = ['ok', 'warning', 'failed'] as const;

/** One thing that an installation needs. */
export interface Check {
  /** In a few words, such as `database`. */
  readonly name: string;
  /** `failed`: users cannot work; `warning`: they soon cannot, or with less protection. */
  readonly state: (typeof CHECK_STATES)[number];
  /** What was found. */
  readonly detail: string;
  /** What to do; null if it is ok. */
  readonly remedy: string | null;
}

type Finding = Omit<Check, 'name'>;

const ok = (detail: string): Finding => ({ state: 'ok', detail, remedy: null });
const warning = (detail: string, remedy: string): Finding => ({ state: 'warning', detail, remedy });
const failed = (detail: string, remedy: string): Finding => ({ state: 'failed', detail, remedy });

export interface ExamineInstallationDeps {
  readonly records: Pick<Records, 'database' | 'sandboxes' | 'capacity' | 'audit' | 'webhooks'>;
  readonly sandboxes: Pick<Sandboxes, 'inspect' | 'enforcement' | 'quota' | 'enforcesPolicies' | 'runsImage'>;
  readonly pool: Pick<WarmPool, 'stats'>;
  readonly plane: Pick<PreviewPlane, 'examine'>;
  /** Undefined: there is no bucket for signed heads. */
  readonly archives: object | undefined;
  readonly clock: Clock;
  readonly images: readonly CatalogueImage[];
  readonly installationId: string;
  /** Most running sandboxes of all people together; 0: no limit. */
  readonly maxInstances: number;
  readonly about: {
    readonly provider: string;
    readonly describe: () => Promise<string>;
    /** Names and versions of this program and of what it runs on, such as `Kubernetes 1.33.2`. */
    readonly software: () => Promise<readonly string[]>;
    /** End of the certificate that this process serves with; undefined: it serves without one. */
    readonly certificateEnds: () => Promise<Date | undefined>;
    /** Bytes of the disk with the data folder; undefined: there is no such folder. */
    readonly disk: () => Promise<Disk | undefined>;
  };
  readonly warnings: () => readonly string[];
}

export interface Disk {
  readonly free: number;
  readonly total: number;
}

/** A check that takes longer has failed, in ms. */
const WITHIN_MS = 5_000;

/** Examines everything at once. Changes nothing, and never rejects. */
export async function examineInstallation(deps: ExamineInstallationDeps): Promise<readonly Check[]> {
  const { records, sandboxes, pool, plane, archives, clock, images, installationId, maxInstances } = deps;
  const { about, warnings } = deps;
  const asked = askDatabase(records, clock);
  const checks: Readonly<Record<string, (signal: AbortSignal) => Promise<Finding | undefined>>> = {
    database: async () => databaseFinding((await asked).ms),
    clock: async () => {
      const { offset } = await asked;
      return clockFinding(offset, (await records.audit.lastHead())?.at, clock.now());
    },
    versions: async () => {
      // Without an answer, the check of the database says so.
      const state = await asked.catch(() => undefined);
      const database = state === undefined ? [] : [state.software];
      return versionsFinding([...(await about.software()), ...database], state?.newerStep);
    },
    sandboxes: async (signal) => {
      await sandboxes.inspect(NO_SANDBOX, signal);
      return ok(await about.describe());
    },
    isolation: async () => isolationFinding(await sandboxes.enforcement(false)),
    'network policies': async (signal) => {
      const page = await records.sandboxes.live({ limit: 100 }, installationId).catch(() => undefined);
      const running = page?.items.filter(({ observed }) => observed === 'running') ?? [];
      // The oldest: policies take a moment to apply to a new pod.
      const ids = running.slice(-MAX_TRIED).map(({ id }) => id);
      return policiesFinding(await sandboxes.enforcesPolicies?.(ids, signal));
    },
    images: async (signal) => {
      // Local sandboxes have none.
      if (about.provider === 'local') return undefined;
      const runs = await Promise.all(images.map(({ reference }) => sandboxes.runsImage(reference, signal)));
      return imagesFinding(
        images.filter((_, at) => runs[at] !== true).map(({ name }) => name),
        images.length,
      );
    },
    capacity: async () => capacityFinding(await records.capacity.countWanted(installationId), maxInstances),
    quota: async (signal) => quotaFinding((await sandboxes.quota?.(signal)) ?? []),
    'warm pool': async (signal) => poolFinding(await pool.stats(signal)),
    audit: async () => {
      const [head] = archives === undefined ? [] : await records.audit.waitingHeads();
      return auditFinding(await records.audit.oldestLoose(), head?.at, clock.now());
    },
    webhooks: async () => {
      const [hooks, due] = await Promise.all([records.webhooks.list(undefined), records.webhooks.due()]);
      return webhooksFinding(hooks, due, clock.now());
    },
    gateway: async (signal) => gatewayFinding(await plane.examine?.(signal), clock.now()),
    certificate: async () => certificateFinding(await about.certificateEnds(), clock.now()),
    disk: async () => diskFinding(await about.disk()),
  };
  const found = await Promise.all(
    Object.entries(checks).map(async ([name, check]): Promise<Check[]> => {
      const finding = await settled(check);
      return finding === undefined ? [] : [{ name, ...finding }];
    }),
  );
  const settings = warnings().map((each) => ({ name: 'settings', ...warning(each, SETTINGS_REMEDY) }));
  return [...found.flat(), ...settings];
}

/** What it is, how long it takes, and how far its clock is off this one, both in ms. */
async function askDatabase(records: Pick<Records, 'database'>, clock: Clock) {
  const [began, before] = [performance.now(), clock.now().getTime()];
  const { now, ...state } = await records.database();
  const offset = now.getTime() - (before + clock.now().getTime()) / 2;
  return { ...state, ms: performance.now() - began, offset };
}

/** Sandboxes that are asked whether network policies hold. */
const MAX_TRIED = 3;

/** An id that no sandbox has: the provider answers that it is absent. */
const NO_SANDBOX = 'aaaaaaaaaaaaaaaa';
const SETTINGS_REMEDY = 'docs/reference/settings.md explains the settings.';

async function settled(
  check: (signal: AbortSignal) => Promise<Finding | undefined>,
): Promise<Finding | undefined> {
  const signal = AbortSignal.timeout(WITHIN_MS);
  const late = Promise.withResolvers<Finding>();
  signal.addEventListener('abort', () =>
    late.resolve(
      failed(`no answer within ${WITHIN_MS / 1_000} s`, 'Look at its own logs and at the network.'),
    ),
  );
  try {
    return await Promise.race([check(signal), late.promise]);
  } catch (error) {
    const { message } = error as Error;
    return failed(message, 'Look at its own logs and at the network.');
  }
}

const SLOW_DATABASE_MS = 250;

export function databaseFinding(ms: number): Finding {
  const detail = `answers in ${Math.max(1, Math.round(ms))} ms`;
  return ms < SLOW_DATABASE_MS
    ? ok(detail)
    : warning(detail, 'Each request waits for it: give it more resources, or bring it nearer.');
}

/** Tokens are valid for minutes: a clock that is further off refuses them. */
const CLOCK_WARNS_MS = 2_000;
const CLOCK_FAILS_MS = 60_000;

/**
 * @param offset of the database's clock from this one, in ms
 * @param signed when the last head of the audit was signed
 */
export function clockFinding(offset: number, signed: Date | undefined, now: Date): Finding {
  const size = Math.abs(offset);
  if (size < CLOCK_WARNS_MS) {
    if (signed === undefined || signed.getTime() - now.getTime() < CLOCK_FAILS_MS)
      return ok("agrees with the database's");
    return warning(
      `was set back: the last head of the audit is of ${signed.toISOString()}`,
      'Nothing to do if the time is right now: passes go on, and the next head replaces it.',
    );
  }
  const detail = `${(size / 1_000).toFixed(1)} s ${offset > 0 ? 'behind' : 'ahead of'} the database's`;
  const found = size < CLOCK_FAILS_MS ? warning : failed;
  return found(detail, 'Synchronize both with NTP: tokens and deadlines depend on the time.');
}

/** ValidatingAdmissionPolicies, which limit sandboxes, are stable from Kubernetes 1.30 on. */
const LEAST: Readonly<Record<string, readonly [major: number, minor: number]>> = { Kubernetes: [1, 30] };

/**
 * @param software names and versions, such as `Kubernetes 1.33.2`
 * @param newerStep step of the database's schema that this version does not know
 */
export function versionsFinding(software: readonly string[], newerStep: string | undefined): Finding {
  const detail = software.join(', ');
  for (const each of software) {
    const [name = '', version = ''] = each.split(' ');
    const least = LEAST[name];
    const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
    if (least === undefined || major > least[0] || (major === least[0] && minor >= least[1])) continue;
    return warning(detail, `Upgrade ${name}: Porthole needs ${least.join('.')} or later.`);
  }
  if (newerStep === undefined) return ok(detail);
  return warning(
    `${detail}; a newer Porthole has used this database (${newerStep})`,
    'Finish the roll-out. After a roll-back this stays until the next upgrade.',
  );
}

const PROTECTIONS: Readonly<Record<keyof Enforcement, string>> = {
  cpu: 'CPUs',
  memoryMb: 'memory',
  diskMb: 'disk',
  network: 'network',
  processes: 'number of processes',
  systemCalls: 'system calls',
};

export function isolationFinding(enforcement: Enforcement): Finding {
  const missing = Object.entries(PROTECTIONS).filter(
    ([key]) => enforcement[key as keyof Enforcement] === null,
  );
  if (missing.length === 0) return ok('every limit of a sandbox is enforced');
  return warning(
    `nothing limits ${missing.map(([, words]) => words).join(', ')} of a sandbox`,
    'docs/guides/isolation.md says what enforces each.',
  );
}

export function policiesFinding(areEnforced: boolean | undefined): Finding | undefined {
  if (areEnforced === undefined) return undefined;
  if (areEnforced)
    return ok('enforced: this pod cannot connect to a port that sandboxes have for the Gateway');
  return warning(
    'not enforced: this pod can connect to a port that sandboxes have for the Gateway alone',
    "Install a network plugin that enforces NetworkPolicy, such as Calico or Cilium, and deploy Porthole's policies. Without them, sandboxes can reach each other and the cluster.",
  );
}

export function imagesFinding(missing: readonly string[], total: number): Finding | undefined {
  if (total === 0) return undefined;
  if (missing.length === 0) return ok(`${total} in the catalogue`);
  return warning(
    `the provider cannot run ${missing.join(', ')}`,
    'Build or pull them (npm run images), or take them out of PORTHOLE_IMAGES.',
  );
}

/** Of the limit: what is left is used up by a busy morning. */
const NEARLY_FULL = 0.9;

export function capacityFinding(running: number, most: number): Finding {
  if (most === 0) return ok(`${running} running, without a limit`);
  const detail = `${running} of ${most} running`;
  const remedy = 'Raise WARM_POOL_MAX_INSTANCES, or stop idle sandboxes sooner.';
  if (running >= most) return failed(detail, remedy);
  return running >= most * NEARLY_FULL ? warning(detail, remedy) : ok(detail);
}

export function quotaFinding(counts: readonly QuotaCount[]): Finding | undefined {
  if (counts.length === 0) return undefined;
  const detail = counts.map(({ what, used, most }) => `${used} of ${most} ${what}`).join(', ');
  const remedy = 'Raise sandboxes.maxTotal, or delete sandboxes that are not needed.';
  const part = Math.max(...counts.map(({ used, most }) => (most === 0 ? 1 : used / most)));
  if (part >= 1) return failed(detail, remedy);
  return part >= NEARLY_FULL ? warning(detail, remedy) : ok(detail);
}

export function poolFinding({ warm, config }: Pick<WarmPoolStats, 'warm' | 'config'>): Finding | undefined {
  const { warmTarget } = config;
  if (warmTarget === 0) return undefined;
  const detail = `${warm} of ${warmTarget} ready`;
  if (warm >= warmTarget / 2) return ok(detail);
  return warning(
    detail,
    'New sandboxes start slowly: raise the limits of the nodes, or look why none is made.',
  );
}

/** The scheduled pass comes every minute. */
const PASS_LATE_MS = 10 * 60_000;

/**
 * @param oldest event that no pass has put into the chain yet
 * @param head oldest signed head that is not in the bucket yet
 */
export function auditFinding(oldest: Date | undefined, head: Date | undefined, now: Date): Finding {
  const isLate = (since: Date | undefined) =>
    since !== undefined && now.getTime() - since.getTime() >= PASS_LATE_MS;
  if (isLate(oldest)) {
    return warning(
      `an event waits since ${oldest?.toISOString()} to be put into the chain`,
      'The scheduled pass does not run: look at its schedule and its logs.',
    );
  }
  if (isLate(head)) {
    return warning(
      `a signed head waits since ${head?.toISOString()} to be written to the bucket`,
      'Look at PORTHOLE_ARCHIVE_BUCKET: is its server reachable and not full, and may its key write there (s3:PutObject, s3:PutObjectRetention)?',
    );
  }
  return ok('every event is in the chain, or will be with the next pass');
}

/** A receiver that is away for longer does not just restart. */
const FAILS_LONG_MS = 3_600_000;

/** @param due the webhooks with something to send, the earliest first */
export function webhooksFinding(
  hooks: readonly Pick<Webhook, 'id' | 'failingAt' | 'disabledReason'>[],
  [earliest]: readonly Pick<DueWebhook, 'dueAt'>[],
  now: Date,
): Finding | undefined {
  if (hooks.length === 0) return undefined;
  const late = earliest === undefined ? 0 : now.getTime() - earliest.dueAt.getTime();
  if (late >= PASS_LATE_MS) {
    return warning(
      `a delivery waits since ${earliest?.dueAt.toISOString()}`,
      'The scheduled pass does not run, or more happens than it delivers: look at its schedule and its logs.',
    );
  }
  const failing = hooks.filter(
    ({ failingAt, disabledReason }) =>
      disabledReason !== null || (failingAt !== null && now.getTime() - failingAt.getTime() >= FAILS_LONG_MS),
  );
  if (failing.length === 0) return ok(`${hooks.length}, all delivered`);
  return warning(
    `${failing.length} of ${hooks.length} cannot be delivered, such as ${failing[0]?.id}`,
    'Settings, Webhooks shows what their receivers answer: mend and enable them, or delete them.',
  );
}

export function gatewayFinding(state: GatewayState | undefined, now: Date): Finding | undefined {
  if (state === undefined) return undefined;
  const { addresses, problems, certificateEnds } = state;
  if (problems.length > 0) {
    return failed(problems.join(' '), 'porthole doctor --gateway tries it with a pod and a route.');
  }
  const detail = `answers at ${addresses} ${addresses === 1 ? 'address' : 'addresses'}`;
  const certificate = certificateFinding(certificateEnds, now);
  if (certificate === undefined) return ok(detail);
  return {
    ...certificate,
    detail: `${detail}, certificate ${certificate.detail}`,
    remedy: certificate.remedy && "Renew the certificate of the Gateway's listener.",
  };
}

/** Certificates of ACME are renewed 30 days before their end. */
const RENEWED_MS = 21 * 24 * 3_600_000;

export function certificateFinding(end: Date | undefined, now: Date): Finding | undefined {
  if (end === undefined) return undefined;
  const left = end.getTime() - now.getTime();
  const detail = `${left <= 0 ? 'ended' : 'valid until'} ${end.toISOString()}`;
  const remedy = 'Renew it: Porthole reads the new file by itself.';
  if (left <= 0) return failed(detail, remedy);
  return left < RENEWED_MS ? warning(detail, remedy) : ok(detail);
}

const GIB = 2 ** 30;
const LITTLE = 0.05;

export function diskFinding(disk: Disk | undefined): Finding | undefined {
  if (disk === undefined) return undefined;
  const { free, total } = disk;
  const detail = `${(free / GIB).toFixed(1)} of ${(total / GIB).toFixed(0)} GiB free`;
  const remedy = 'Delete sandboxes that are not needed, or give the data folder a larger disk.';
  if (free === 0) return failed(detail, remedy);
  return free < Math.min(total * LITTLE, 5 * GIB) ? warning(detail, remedy) : ok(detail);
}
