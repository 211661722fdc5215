import { ownerOf, type Person } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { RunRecord } from '../ports/run-records.ts';
import type { SandboxRecord } from '../ports/sandbox-records.ts';
import type { Tokens } from '../ports/tokens.ts';
import { countExceeded, quotaOf } from '../rules/quotas.ts';
import { runCreated, sandboxCreated } from '../rules/run-events.ts';
import { agentTokenOf } from './agent-access/agent-token.ts';
import type { ProvisionAccess } from './agent-access/provisioning-provider.ts';
import { createSandbox, type CreateSandboxDeps } from './create-sandbox.ts';
import { findSandbox } from './find-sandbox.ts';

export interface CreateRunDeps extends CreateSandboxDeps {
  readonly tokens: Tokens;
  readonly provisionAccess: ProvisionAccess;
}

export interface NewRun {
  readonly title?: string | undefined;
  readonly sandboxId?: string | undefined;
  readonly image?: string | undefined;
  readonly autoApproveTools: boolean;
}

/**
 * Makes a run, in a new sandbox unless one of the caller's is given. The agent token is answered here and never again.
 * @throws PortholeError `quota_exceeded`, `sandbox_not_found`, `invalid_request`, and whatever the
 * provider refuses
 */
export async function createRun(
  deps: CreateRunDeps,
  caller: Person,
  wanted: NewRun,
  signal?: AbortSignal,
): Promise<{ run: RunRecord; agentToken: string }> {
  const { records, tokens, clock, ids, quotas } = deps;
  const { runs: most } = quotaOf(quotas, ownerOf(caller));
  // Before a sandbox is made for it. Simultaneous requests are counted again as they are inserted.
  if (most != null && (await records.runs.countActive(ownerOf(caller))) >= most) {
    throw countExceeded('runs', most);
  }
  const begin = async (sandboxId: string, made?: SandboxRecord) => {
    const run: RunRecord = {
      id: ids.run(),
      owner: ownerOf(caller),
      title: wanted.title ?? null,
      sandboxId,
      autoApproveTools: wanted.autoApproveTools,
      status: 'running',
      tokenKid: tokens.currentKid(),
      createdAt: clock.now(),
      completedAt: null,
    };
    const agentToken = await agentTokenOf(tokens, run, false);
    const events = [runCreated(run), ...(made === undefined ? [] : [sandboxCreated(made)])];
    if (!(await records.runs.create(run, events, most))) throw countExceeded('runs', most ?? 0);
    await deps.provisionAccess(sandboxId, signal);
    return { run, agentToken };
  };

  if (wanted.sandboxId !== undefined) {
    if (wanted.image !== undefined) {
      throw new PortholeError(
        'invalid_request',
        'image and sandbox_id exclude each other: a given sandbox has its image already.',
      );
    }
    const sandbox = await findSandbox(deps, caller, wanted.sandboxId);
    return begin(sandbox.id);
  }
  return createSandbox(
    deps,
    { owner: ownerOf(caller), image: wanted.image },
    (sandbox) => begin(sandbox.id, sandbox),
    signal,
  );
}
