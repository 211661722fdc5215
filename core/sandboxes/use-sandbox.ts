import { type Caller, mayReachSandbox, mayUseSandbox, ownerOf } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { SandboxRecord } from './sandbox-records.ts';
import { checkSandboxId } from './sandbox-owner.ts';
import {
  type CreateSandboxDeps,
  identity,
  type MakeSandboxDeps,
  makeSandbox,
  reserveSandbox,
  specOf,
} from './create-sandbox.ts';
import { endSandbox, type EndSandboxDeps } from './end-sandbox.ts';
import { sandboxNotFound, resumeSandbox } from './resume-sandbox.ts';
import { singleFlight } from '#base/concurrency.ts';
import { requireBudget } from '../usage/spent-budget.ts';
import { noteTurnOwner } from './turn-owners.ts';

export type UseSandboxDeps = MakeSandboxDeps &
  Pick<CreateSandboxDeps, 'quotas' | 'maxInstances' | 'makeRoom'> &
  EndSandboxDeps;

/** Losing the race for an id this often means that a client creates and deletes it in a loop. */
const MAX_ATTEMPTS = 4;

/**
 * Get or create: an id belongs to the person who first used it. A deleted sandbox is created again,
 * for the same owner, and without a network if it had none. Agents (`agents`: whether the agent of
 * its run may use it) and delegates cannot create. A stopped one is resumed, unless `asItIs`.
 * Concurrent first uses create one sandbox, and each waits until it is ready; the creation
 * continues when a caller disconnects, because others may wait.
 * @throws PortholeError `invalid_request`, `sandbox_not_found` (also for a sandbox of another
 * owner: its existence must not leak), and the provider's errors
 */
export async function useSandbox(
  deps: UseSandboxDeps,
  caller: Caller,
  id: string,
  { agents = false, asItIs = false }: { readonly agents?: boolean; readonly asItIs?: boolean } = {},
): Promise<SandboxRecord> {
  const { records } = deps;
  checkSandboxId(id);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const known = await records.sandboxes.get(id);
    const isOwn = known === undefined || mayUseSandbox(caller, known, agents);
    if (!isOwn && !(await mayReachSandbox(deps, caller, known, agents))) throw sandboxNotFound(id);
    if (known !== undefined) noteTurnOwner(known);
    if (known !== undefined && known.desired !== 'destroyed') {
      // A viewer starts nothing: it would use the owner's quota.
      const isViewer = !isOwn && caller.kind === 'person' && caller.via?.needs === 'view';
      return (asItIs || isViewer) && known.observed !== 'creating' ? known : readySandbox(deps, known);
    }
    if (caller.kind !== 'person' || !isOwn) throw sandboxNotFound(id);
    // An unfinished deletion is finished first.
    if (known !== undefined) await endSandbox(deps, known);
    const network = known?.network.mode === 'off' ? known.network : undefined;
    const owner = known?.owner ?? ownerOf(caller);
    await requireBudget(deps, deps.quotas.budgets, owner);
    const reserved = await reserveSandbox(deps, id, { owner, network });
    if (reserved.kind === 'reserved') {
      return makeSandbox(deps, reserved.sandbox, identity);
    }
  }
  throw new PortholeError('sandbox_not_running', `Sandbox ${id} is being created and deleted concurrently`, {
    remedy: 'try again.',
  });
}

/**
 * An existing sandbox, once commands can run in it. `inspects`: asks the provider about a sandbox
 * that is recorded as running, because it may have died; commands resume such a one by themselves.
 */
export async function readySandbox(
  deps: UseSandboxDeps,
  sandbox: SandboxRecord,
  { inspects = false }: { readonly inspects?: boolean } = {},
): Promise<SandboxRecord> {
  const { id, desired, observed } = sandbox;
  if (observed === 'creating') return awaitCreation(deps, sandbox);
  const isUp =
    desired === 'running' &&
    observed === 'running' &&
    (!inspects || (await deps.sandboxes.inspect(id)).state === 'running');
  return isUp ? sandbox : resumeSandbox(deps, sandbox);
}

/** Creating is idempotent: every waiter also creates, in case the first process was killed. */
async function awaitCreation(
  { sandboxes, records }: UseSandboxDeps,
  sandbox: SandboxRecord,
): Promise<SandboxRecord> {
  // Single-flight in this process: otherwise each caller would inspect, wait and probe by itself.
  const skills = await singleFlight(records.sandboxes, `create ${sandbox.id}`, async () => {
    await sandboxes.create(specOf(sandbox));
    const { placeSkills } = await import('../skills/place-skills.ts');
    return placeSkills({ sandboxes, records }, sandbox);
  });
  await records.sandboxes.setObserved(sandbox.id, 'running', sandbox.generation);
  return { ...sandbox, observed: 'running', skills };
}
