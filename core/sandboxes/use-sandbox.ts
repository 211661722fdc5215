import { type Caller, mayUseSandbox, ownerOf } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { SandboxRecord } from './sandbox-records.ts';
import { checkSandboxId } from './sandbox-owner.ts';
import {
  type CreateSandboxDeps,
  type MakeSandboxDeps,
  makeSandbox,
  reserveSandbox,
  specOf,
} from './create-sandbox.ts';
import { endSandbox, type EndSandboxDeps } from './end-sandbox.ts';
import { sandboxNotFound, resumeSandbox } from './resume-sandbox.ts';
import { joined } from '../shared/concurrency.ts';
import { placeSkills } from '../skills/place-skills.ts';

export type UseSandboxDeps = MakeSandboxDeps &
  Pick<CreateSandboxDeps, 'quotas' | 'maxInstances'> &
  EndSandboxDeps;

/**
 * Whoever loses the race for an id this often in a row meets somebody who makes and deletes it in a
 * loop.
 */
const MAX_ATTEMPTS = 4;

/**
 * The sandbox, made where there is none: an id is only a name, and belongs to the person who first
 * used it. A deleted one is made anew, for the same owner. Agents (`agents`: whether the one of its
 * run may use it at all) and delegates make none. A stopped one is resumed, unless `asItIs`.
 * Simultaneous first uses make one sandbox, and each waits until it is there; it is made to the end
 * when a caller goes away meanwhile, because others may wait.
 * @throws PortholeError `invalid_request`, `sandbox_not_found` (a foreign one too: its existence is
 * nobody else's business), and whatever the provider refuses
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
    if (known !== undefined && !mayUseSandbox(caller, known, agents)) throw sandboxNotFound(id);
    if (known !== undefined && known.desired !== 'destroyed') {
      return asItIs && known.observed !== 'creating' ? known : readySandbox(deps, known);
    }
    if (caller.kind !== 'person') throw sandboxNotFound(id);
    // A deletion that is under way, or was cut off, is finished first.
    if (known !== undefined) await endSandbox(deps, known);
    const reserved = await reserveSandbox(deps, id, { owner: known?.owner ?? ownerOf(caller) });
    if (reserved.kind === 'reserved') {
      return makeSandbox(deps, reserved.sandbox, (sandbox) => Promise.resolve(sandbox));
    }
  }
  throw new PortholeError(
    'sandbox_not_running',
    `Sandbox ${id} is made and deleted again at this moment: try again.`,
  );
}

/**
 * A sandbox that is there, once commands can run in it. `inspects`: asks the provider about one
 * that is recorded as running, which may have died by itself; commands that meet such a one bring
 * it back.
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
    (!inspects || (await deps.provider.inspect(id)).state === 'running');
  return isUp ? sandbox : resumeSandbox(deps, sandbox);
}

/**
 * Creating is idempotent, so whoever comes meanwhile does it as well; it goes on when the first one
 * was killed over it.
 */
async function awaitCreation(
  { provider, records }: UseSandboxDeps,
  sandbox: SandboxRecord,
): Promise<SandboxRecord> {
  // Simultaneous ones of this process do it together: each would look, wait and try a command by
  // itself.
  const skills = await joined(records.sandboxes, `create ${sandbox.id}`, async () => {
    await provider.create(specOf(sandbox));
    return placeSkills({ provider, records }, sandbox);
  });
  await records.sandboxes.setObserved(sandbox.id, 'running', sandbox.generation);
  return { ...sandbox, observed: 'running', skills };
}
