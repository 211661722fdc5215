import { PortholeError } from '#base/errors.ts';
import type { Clock, Ids, Owner } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import type { QuotaLimits, Reservation, SandboxOptions } from './sandbox-capacity.ts';
import type { NewSandboxRecord, OnTimeout, SandboxRecord } from './sandbox-records.ts';
import type { Sandboxes, SandboxSize, SandboxSpec } from './sandbox-provider.ts';
import type { NetworkAccess } from '../network/network.ts';
import type { WarmPool } from './warm-pool.ts';
import { type CatalogueDeps, findImage } from '../images/image-catalogue.ts';
import { type NetworkPolicy, NO_NETWORK } from '../network/network-policy.ts';
import { NO_SECRETS, type SandboxSecrets } from '../network/network-secrets.ts';
import { POOL_OWNER } from './sandbox-owner.ts';
import { limitsSandboxes, quotaExceeded, quotaOf, type Quotas } from './sandbox-quotas.ts';
import { requireBudget } from '../usage/spent-budget.ts';
import { requireSkills } from '../skills/require-skills.ts';
import { destroySandbox } from './end-sandbox.ts';
import type { MakeRoom } from './make-room.ts';
import { traced } from '../telemetry/tracing.ts';

/** What makes a sandbox of an id. */
export interface MakeSandboxDeps {
  readonly records: Records;
  readonly sandboxes: Sandboxes;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Installation id, written to the record: see `SandboxRecord.place`. */
  readonly installationId: string;
  /** Makes it in another way; never one of a pool. @default `sandboxes.create` */
  readonly create?: Sandboxes['create'] | undefined;
}

export interface CreateSandboxDeps extends MakeSandboxDeps, Omit<CatalogueDeps, 'sandboxes'> {
  readonly records: Records;
  /** Pool of ready sandboxes. */
  readonly pool: Pick<WarmPool, 'take'>;
  /** @default no network, and no broker */
  readonly network?: Pick<NetworkAccess, 'default' | 'isBrokered'> | undefined;
  /** Quotas by owner. */
  readonly quotas: Quotas;
  /**
   * Most sandboxes of all owners that may be wanted to run at a time; sandboxes that wait in a pool
   * do not count. @default 0: no limit
   */
  readonly maxInstances?: number | undefined;
  /** @default a request over quota is refused */
  readonly makeRoom?: MakeRoom | undefined;
}

export interface NewSandbox {
  readonly owner: Owner;
  /** Its name in the catalogue. @default the provider's own default */
  readonly image?: string | undefined;
  readonly sessionKey?: string | undefined;
  readonly name?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
  readonly ttlSeconds?: number | undefined;
  /** @default it has no time-out */
  readonly timeoutAt?: Date | undefined;
  /** @default stop */
  readonly onTimeout?: OnTimeout | undefined;
  readonly deleteWithThread?: boolean | undefined;
  /** Missing fields take the provider's defaults. */
  readonly resources?: Partial<SandboxSize> | undefined;
  /** @default the installation's */
  readonly network?: NetworkPolicy | undefined;
  /** @default none */
  readonly secrets?: SandboxSecrets | undefined;
  /** For every command of its owner; already checked with `environmentProblem`. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Unique names of the skills to place in it. */
  readonly skills?: readonly string[] | undefined;
}

/**
 * Makes a sandbox under a fresh id, or takes a ready one, and passes it to `use` while it is still
 * `creating`; it becomes `running` only when `use` succeeds. A crash before that leaves a record in
 * `creating`, which recovery destroys, because no caller has received its id. Without `use` a ready
 * one runs at once: a second write would take as long as the first. If the owner has a sandbox with
 * that session key, `known` gets that one instead.
 * @throws PortholeError `quota_exceeded`, `sandbox_exists` if the name is taken,
 * `image_not_supported`, `skill_not_found`, and the provider's errors
 */
export function createSandbox(
  deps: CreateSandboxDeps,
  asked: NewSandbox,
  use?: Use<SandboxRecord>,
  signal?: AbortSignal,
  known?: Use<SandboxRecord>,
): Promise<SandboxRecord>;
export function createSandbox<T>(
  deps: CreateSandboxDeps,
  asked: NewSandbox,
  use: Use<T>,
  signal?: AbortSignal,
  known?: Use<T>,
): Promise<T>;
export function createSandbox(
  deps: CreateSandboxDeps,
  asked: NewSandbox,
  use?: Use<unknown>,
  signal?: AbortSignal,
  known: Use<unknown> = use ?? identity,
): Promise<unknown> {
  return traced({ name: 'sandbox.create' }, () => create(deps, asked, use, signal, known));
}

async function create(
  deps: CreateSandboxDeps,
  asked: NewSandbox,
  use: Use<unknown> | undefined,
  signal: AbortSignal | undefined,
  known: Use<unknown>,
): Promise<unknown> {
  const wanted = await withNetwork(deps, await sized(deps, asked));
  await requireSkills(deps, wanted.owner, wanted.skills ?? []);
  await requireBudget(deps, deps.quotas.budgets, wanted.owner);
  const isUsed = use !== undefined || (wanted.skills ?? []).length > 0;
  const quotaLimits = quotaLimitsOf(deps, wanted.owner);
  const sandboxOptions: SandboxOptions = { ...fieldsOf(wanted), quotaLimits, runsAtOnce: !isUsed };
  const isPlain =
    deps.create === undefined && isDefault(deps.sandboxes, wanted) && (await fitsNetwork(deps, wanted));
  const warm = isPlain ? await deps.pool.take(wanted.owner, signal, sandboxOptions) : undefined;
  if (warm !== undefined && !isUsed) return warm;
  const work = use ?? identity;
  if (warm !== undefined) return finish(deps, warm, () => placeSkillsThenUse(deps, warm, work, signal));
  const id = deps.ids.sandbox();
  const reservation = await reserveSandbox(deps, id, wanted);
  if (reservation.kind === 'id_taken') {
    throw new PortholeError('internal_error', `Sandbox id ${id} is taken`, {
      remedy: 'ask for another one.',
    });
  }
  if (reservation.kind === 'same_session') return known(reservation.sandbox);
  return makeSandbox(deps, reservation.sandbox, work, signal);
}

type Use<T> = (sandbox: SandboxRecord) => Promise<T>;

/** The `use` of a sandbox that needs nothing more. */
export function identity(sandbox: SandboxRecord): Promise<SandboxRecord> {
  return Promise.resolve(sandbox);
}

/**
 * Reserves the id for a new sandbox, unless its owner has one with that session key, or a sandbox
 * with that id exists, or is being created or destroyed.
 * @throws PortholeError `quota_exceeded`, `sandbox_exists`, `capacity_exceeded`
 */
export async function reserveSandbox(
  deps: MakeSandboxDeps & Pick<CreateSandboxDeps, 'quotas' | 'maxInstances' | 'network' | 'makeRoom'>,
  id: string,
  asked: NewSandbox,
): Promise<Extract<Reservation, { kind: 'reserved' | 'same_session' | 'id_taken' }>> {
  const wanted = await withNetwork(deps, asked);
  const quotaLimits = quotaLimitsOf(deps, wanted.owner);
  const reserve = () => deps.records.capacity.reserve(newRecord(deps, id, wanted), quotaLimits);
  let reservation = await reserve();
  if (reservation.kind === 'over_quota' && (await deps.makeRoom?.(wanted.owner)) === true) {
    reservation = await reserve();
  }
  if (reservation.kind === 'over_quota') {
    const more = { sandboxes: 1, ...deps.sandboxes.defaultSize, ...wanted.resources };
    const running = await deps.records.capacity.wantedBy(wanted.owner, deps.installationId);
    const quota = quotaOf(deps.quotas, wanted.owner);
    throw quotaExceeded(quota, reservation.used, more, running, deps.clock.now());
  }
  if (reservation.kind === 'same_name') {
    throw new PortholeError(
      'sandbox_exists',
      `You already have a sandbox named ${JSON.stringify(wanted.name)}, ${reservation.sandbox.id}`,
      { remedy: 'use it, or choose another name.', details: { sandbox_id: reservation.sandbox.id } },
    );
  }
  if (reservation.kind === 'reserved') await keepToCapacity(deps, reservation.sandbox);
  return reservation;
}

/**
 * Checks after the sandbox is counted, so that concurrent requests cannot exceed the limit.
 * Concurrent requests for the last places may all be refused.
 */
async function keepToCapacity(
  deps: MakeSandboxDeps & Pick<CreateSandboxDeps, 'maxInstances'>,
  sandbox: SandboxRecord,
): Promise<void> {
  const { records, installationId, maxInstances = 0 } = deps;
  if (maxInstances === 0) return;
  const [waiting, total] = await Promise.all([
    records.capacity.wantedBy(POOL_OWNER, installationId),
    records.capacity.countWanted(installationId),
  ]);
  if (total - waiting.length <= maxInstances) return;
  await destroySandbox(deps, sandbox);
  throw new PortholeError(
    'capacity_exceeded',
    `${maxInstances} sandboxes are running, the maximum (WARM_POOL_MAX_INSTANCES)`,
    { remedy: 'try again once one is stopped or deleted.' },
  );
}

/** Like `reserveSandbox`, without quota checks. Returns undefined if the id exists. */
export function claimSandboxId(
  deps: MakeSandboxDeps,
  id: string,
  wanted: NewSandbox,
): Promise<SandboxRecord | undefined> {
  return deps.records.sandboxes.create(newRecord(deps, id, wanted));
}

function newRecord(
  { clock, installationId }: MakeSandboxDeps,
  id: string,
  wanted: NewSandbox,
): NewSandboxRecord {
  return {
    id,
    owner: wanted.owner,
    image: wanted.image ?? null,
    place: installationId,
    desired: 'running',
    observed: 'creating',
    createdAt: clock.now(),
    ...fieldsOf(wanted),
  };
}

/** The fields that new and pooled sandboxes share. */
function fieldsOf(wanted: NewSandbox) {
  return {
    sessionKey: wanted.sessionKey ?? null,
    name: wanted.name ?? null,
    tags: wanted.tags ?? {},
    ttlSeconds: wanted.ttlSeconds ?? null,
    timeoutAt: wanted.timeoutAt ?? null,
    onTimeout: wanted.onTimeout ?? 'stop',
    deleteWithThread: wanted.deleteWithThread ?? false,
    resources: wanted.resources ?? {},
    network: wanted.network ?? NO_NETWORK,
    secrets: wanted.secrets ?? NO_SECRETS,
    env: wanted.env ?? {},
    skills: (wanted.skills ?? []).map((name) => ({ name, digest: null, kept: [] })),
  } satisfies Partial<NewSandboxRecord>;
}

/**
 * Whether pooled sandboxes match. The environment is irrelevant: it is sent with each command. The
 * certificates of secrets are placed when a sandbox starts.
 */
function isDefault(
  { defaultSize }: Sandboxes,
  { image, resources = {}, secrets = NO_SECRETS }: NewSandbox,
): boolean {
  const isUsual = (key: keyof SandboxSize) => (resources[key] ?? defaultSize[key]) === defaultSize[key];
  const sizes = ['cpu', 'memoryMb', 'diskMb'] as const;
  return image === undefined && secrets.list.length === 0 && sizes.every(isUsual);
}

/** A broker applies later policy changes; without one, pooled sandboxes have no network. */
async function fitsNetwork({ network }: CreateSandboxDeps, wanted: NewSandbox): Promise<boolean> {
  return wanted.network?.mode === 'off' || (await network?.isBrokered()) === true;
}

async function withNetwork(
  { network }: Pick<CreateSandboxDeps, 'network'>,
  wanted: NewSandbox,
): Promise<NewSandbox> {
  return { ...wanted, network: wanted.network ?? (await defaultNetwork(network)) };
}

/** The policy of a sandbox that requests none. Without a broker only off and open are possible. */
export async function defaultNetwork(
  network: Pick<NetworkAccess, 'default' | 'isBrokered'> | undefined,
): Promise<NetworkPolicy> {
  if (network === undefined) return NO_NETWORK;
  const isPossible = network.default === 'open' || (await network.isBrokered());
  return { ...NO_NETWORK, mode: isPossible ? network.default : 'off' };
}

/**
 * Adds the image's sizes from the catalogue where none are requested. @throws PortholeError
 * `image_not_supported`
 */
async function sized(deps: CatalogueDeps, wanted: NewSandbox): Promise<NewSandbox> {
  if (wanted.image === undefined) return wanted;
  const { resources } = await findImage(deps, wanted.image);
  const cpu = wanted.resources?.cpu ?? resources.cpu;
  const memoryMb = wanted.resources?.memoryMb ?? resources.memoryMb;
  const diskMb = wanted.resources?.diskMb ?? resources.diskMb;
  return {
    ...wanted,
    resources: {
      ...(cpu !== undefined && { cpu }),
      ...(memoryMb !== undefined && { memoryMb }),
      ...(diskMb !== undefined && { diskMb }),
    },
  };
}

/** The provider's spec of a record. */
export function specOf({ id, image, resources, network }: SandboxRecord): SandboxSpec {
  return { id, image: image ?? undefined, resources, network: network.mode === 'open' };
}

/** Undefined if the owner has no quota. */
export function quotaLimitsOf(
  { quotas, sandboxes }: { readonly quotas: Quotas; readonly sandboxes: Pick<Sandboxes, 'defaultSize'> },
  owner: Owner,
): QuotaLimits | undefined {
  const quota = quotaOf(quotas, owner);
  return limitsSandboxes(quota) ? { quota, defaultSize: sandboxes.defaultSize } : undefined;
}

/** Makes the sandbox of a reserved id. On failure it is removed again. */
export function makeSandbox<T>(
  deps: MakeSandboxDeps,
  sandbox: SandboxRecord,
  use: Use<T>,
  signal?: AbortSignal,
): Promise<T> {
  return finish(deps, sandbox, async () => {
    const { sandboxes, create = sandboxes.create.bind(sandboxes) } = deps;
    await create(specOf(sandbox), signal);
    return placeSkillsThenUse(deps, sandbox, use, signal);
  });
}

/** Places its skills, then calls `use`. */
async function placeSkillsThenUse<T>(
  deps: MakeSandboxDeps,
  sandbox: SandboxRecord,
  use: Use<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (sandbox.skills.length === 0) return use(sandbox);
  // Loaded on demand: it reads and writes tar files.
  const { placeSkills } = await import('../skills/place-skills.ts');
  return use({ ...sandbox, skills: await placeSkills(deps, sandbox, signal) });
}

/** Does the last step of a creation; if the step fails, the sandbox is destroyed. */
async function finish<T>(deps: MakeSandboxDeps, sandbox: SandboxRecord, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    if (sandbox.ttlSeconds !== null) await deps.records.sandboxes.heartbeat(sandbox, deps.clock.now());
    await deps.records.sandboxes.setObserved(sandbox.id, 'running', sandbox.generation);
    return result;
  } catch (error) {
    await destroySandbox(deps, sandbox).catch((cause: unknown) => {
      // The record still says `creating` or wants `destroyed`: recovery finishes it. The first
      // error is reported.
      if (error instanceof Error) error.cause ??= cause;
    });
    throw error;
  }
}
