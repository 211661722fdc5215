import { PortholeError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { NewSandboxRecord, Owner, Records, SandboxRecord } from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import type { WarmPool } from '../ports/warm-pool.ts';
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

export interface CreateSandboxDeps extends MakeSandboxDeps {
  /** Where one may be ready. */
  readonly pool: Pick<WarmPool, 'take'>;
}

export interface NewSandbox {
  readonly owner: Owner;
  readonly image?: string | undefined;
}

/**
 * Makes a sandbox under a fresh id, or takes one that is ready, and hands it to `use` while it still counts as being created; only when that succeeds does it count as running. A crash anywhere
 * before leaves a record in `creating`, which recovery destroys, because nobody was ever told of it.
 */
export async function createSandbox<T>(
  deps: CreateSandboxDeps,
  wanted: NewSandbox,
  use: (sandbox: SandboxRecord) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const warm = wanted.image === undefined ? await deps.pool.take(wanted.owner, signal) : undefined;
  if (warm !== undefined) return finish(deps, warm, () => use(warm));
  const id = deps.ids.sandbox();
  const sandbox = await claimSandboxId(deps, id, wanted);
  if (sandbox === undefined) {
    throw new PortholeError('internal_error', `Sandbox id ${id} is taken: ask for another one.`);
  }
  return makeSandbox(deps, sandbox, use, signal);
}

/** Takes the id for a sandbox that is to be made; undefined where one of that id is there, or is being made or destroyed. */
export async function claimSandboxId(
  { records, clock, place }: MakeSandboxDeps,
  id: string,
  { owner, image }: NewSandbox,
): Promise<SandboxRecord | undefined> {
  const sandbox: NewSandboxRecord = {
    id,
    owner,
    image: image ?? null,
    place,
    desired: 'running',
    observed: 'creating',
    createdAt: clock.now(),
  };
  const generation = await records.sandboxes.create(sandbox);
  return generation === undefined ? undefined : { ...sandbox, generation };
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
