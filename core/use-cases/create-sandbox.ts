import { PortholeError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Owner, Records, SandboxRecord } from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { destroySandbox } from './destroy-sandbox.ts';

export interface CreateSandboxDeps {
  readonly records: Records;
  readonly provider: SandboxProvider;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Goes into the record: see SandboxRecord.place. */
  readonly place: string;
}

export interface NewSandbox {
  readonly owner: Owner;
  readonly image?: string | undefined;
}

/**
 * Makes a sandbox and hands it to `use` while it still counts as being created; only when that succeeds does it count as running. A crash anywhere before leaves a
 * record in `creating`, which recovery destroys, because nobody was ever told of it.
 */
export async function createSandbox<T>(
  deps: CreateSandboxDeps,
  { owner, image }: NewSandbox,
  use: (sandbox: SandboxRecord) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { records, provider, clock, ids, place } = deps;
  const sandbox: SandboxRecord = {
    id: ids.sandbox(),
    owner,
    image: image ?? null,
    place,
    desired: 'running',
    observed: 'creating',
    createdAt: clock.now(),
  };
  if (!(await records.sandboxes.create(sandbox))) {
    throw new PortholeError('internal_error', `Sandbox id ${sandbox.id} is taken: ask for another one.`);
  }
  try {
    await provider.create({ id: sandbox.id, image }, signal);
    const result = await use(sandbox);
    await records.sandboxes.setObserved(sandbox.id, 'running');
    return result;
  } catch (error) {
    await destroySandbox(deps, sandbox.id).catch((cause: unknown) => {
      // The record still says `creating` or wants `destroyed`: recovery finishes it. The first error is the one to tell.
      if (error instanceof Error) error.cause ??= cause;
    });
    throw error;
  }
}
