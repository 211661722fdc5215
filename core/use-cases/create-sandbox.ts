import { PortholeError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type {
  NewSandboxRecord,
  Owner,
  Records,
  Reservation,
  SandboxRecord,
  SandboxTerms,
} from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import type { WarmPool } from '../ports/warm-pool.ts';
import { quotaOf, type Quotas } from '../rules/quotas.ts';
import { type CatalogueDeps, findImage } from './images/image-catalogue.ts';
import { destroySandbox } from './destroy-sandbox.ts';

/** What makes a sandbox of an id. */
export interface MakeSandboxDeps {
  readonly records: Records;
  readonly provider: SandboxProvider;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Goes into the record: see SandboxRecord.place. */
  readonly place: string;
}

export interface CreateSandboxDeps extends MakeSandboxDeps, CatalogueDeps {
  readonly records: Records;
  /** Where one may be ready. */
  readonly pool: Pick<WarmPool, 'take'>;
  /** What each owner may have. */
  readonly quotas: Quotas;
}

export interface NewSandbox {
  readonly owner: Owner;
  /** Its name in the catalogue. @default the provider's own default */
  readonly image?: string | undefined;
  readonly sessionKey?: string | undefined;
  readonly name?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
  readonly ttlSeconds?: number | undefined;
}

/**
 * Makes a sandbox under a fresh id, or takes one that is ready, and hands it to `use` while it still counts as being created; only when that succeeds does it count as running. A crash anywhere
 * before leaves a record in `creating`, which recovery destroys, because nobody was ever told of it. Where the owner has one of that session key, `known` is given that one instead.
 * @throws PortholeError `quota_exceeded`, `sandbox_exists` where the name is taken, `image_not_supported`, and whatever the provider refuses
 */
export async function createSandbox<T>(
  deps: CreateSandboxDeps,
  wanted: NewSandbox,
  use: (sandbox: SandboxRecord) => Promise<T>,
  signal?: AbortSignal,
  known: (sandbox: SandboxRecord) => Promise<T> = use,
): Promise<T> {
  if (wanted.image !== undefined) await findImage(deps, wanted.image);
  const terms = termsOf(deps, wanted);
  const warm = wanted.image === undefined ? await deps.pool.take(wanted.owner, signal, terms) : undefined;
  if (warm !== undefined) return finish(deps, warm, () => use(warm));
  const id = deps.ids.sandbox();
  const reservation = await reserveSandbox(deps, id, wanted);
  if (reservation.kind === 'id_taken') {
    throw new PortholeError('internal_error', `Sandbox id ${id} is taken: ask for another one.`);
  }
  if (reservation.kind === 'same_session') return known(reservation.sandbox);
  return makeSandbox(deps, reservation.sandbox, use, signal);
}

/**
 * Takes the id for a sandbox that is to be made, unless its owner has one of that session key, or one of that id is there, or is being made or destroyed.
 * @throws PortholeError `quota_exceeded`, `sandbox_exists`
 */
export async function reserveSandbox(
  deps: MakeSandboxDeps & Pick<CreateSandboxDeps, 'quotas'>,
  id: string,
  wanted: NewSandbox,
): Promise<Extract<Reservation, { kind: 'reserved' | 'same_session' | 'id_taken' }>> {
  const { most } = termsOf(deps, wanted);
  const reservation = await deps.records.sandboxes.reserve(newRecord(deps, id, wanted), most);
  if (reservation.kind === 'over_quota') {
    throw new PortholeError(
      'quota_exceeded',
      `You have ${reservation.used} sandboxes of the ${most} that you may have at a time: stop or delete one, or let an administrator raise PORTHOLE_QUOTAS.`,
    );
  }
  if (reservation.kind === 'same_name') {
    throw new PortholeError(
      'sandbox_exists',
      `You have a sandbox of the name ${JSON.stringify(wanted.name)} already, ${reservation.sandbox.id}: use it, or choose another name.`,
    );
  }
  return reservation;
}

/** The same for whom no quota binds; undefined where the id is taken. */
export async function claimSandboxId(
  deps: MakeSandboxDeps,
  id: string,
  wanted: NewSandbox,
): Promise<SandboxRecord | undefined> {
  const sandbox = newRecord(deps, id, wanted);
  const generation = await deps.records.sandboxes.create(sandbox);
  if (generation === undefined) return undefined;
  return {
    ...sandbox,
    generation,
    lastActiveAt: sandbox.createdAt,
    stoppedAt: null,
    ttlSeconds: sandbox.ttlSeconds ?? null,
    heartbeatAt: sandbox.createdAt,
  };
}

function newRecord(
  { clock, place }: MakeSandboxDeps,
  id: string,
  { owner, image, sessionKey, name, tags, ttlSeconds }: NewSandbox,
): NewSandboxRecord {
  return {
    id,
    owner,
    image: image ?? null,
    place,
    desired: 'running',
    observed: 'creating',
    createdAt: clock.now(),
    sessionKey: sessionKey ?? null,
    name: name ?? null,
    tags: tags ?? {},
    ttlSeconds: ttlSeconds ?? null,
  };
}

function termsOf(
  { quotas }: Pick<CreateSandboxDeps, 'quotas'>,
  { owner, sessionKey, name, tags, ttlSeconds }: NewSandbox,
): SandboxTerms {
  return {
    sessionKey: sessionKey ?? null,
    name: name ?? null,
    tags: tags ?? {},
    ttlSeconds: ttlSeconds ?? null,
    most: quotaOf(quotas, owner).sandboxes,
  };
}

/** Makes the sandbox of a claimed id, or nothing: what fails is removed again. */
export function makeSandbox<T>(
  deps: MakeSandboxDeps,
  sandbox: SandboxRecord,
  use: (sandbox: SandboxRecord) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return finish(deps, sandbox, async () => {
    await deps.provider.create({ id: sandbox.id, image: sandbox.image ?? undefined }, signal);
    return use(sandbox);
  });
}

/** Does the last of what a sandbox that counts as being created needs; without it, there is none. */
async function finish<T>(deps: MakeSandboxDeps, sandbox: SandboxRecord, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    if (sandbox.ttlSeconds !== null) await deps.records.sandboxes.beat(sandbox, deps.clock.now());
    await deps.records.sandboxes.setObserved(sandbox.id, 'running', sandbox.generation);
    return result;
  } catch (error) {
    await destroySandbox(deps, sandbox).catch((cause: unknown) => {
      // The record still says `creating` or wants `destroyed`: recovery finishes it. The first error is the one to tell.
      if (error instanceof Error) error.cause ??= cause;
    });
    throw error;
  }
}
