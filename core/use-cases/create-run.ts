import { ownerOf, type Person } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { RunRecord, SandboxRecord } from '../ports/records.ts';
import type { Tokens } from '../ports/tokens.ts';
import { runCreated, sandboxCreated } from '../rules/run-events.ts';
import { createSandbox, type CreateSandboxDeps } from './create-sandbox.ts';
import { findSandbox } from './find-sandbox.ts';

export interface CreateRunDeps extends CreateSandboxDeps {
  readonly tokens: Tokens;
}

export interface NewRun {
  readonly title?: string | undefined;
  readonly sandboxId?: string | undefined;
  readonly image?: string | undefined;
  readonly autoApproveTools: boolean;
}

/** An agent's token dies with its run, and after this long at the latest. */
const AGENT_TOKEN_HOURS = 24;

/**
 * Makes a run, in a new sandbox unless one of the caller's is given. The agent token is answered here and never again.
 * @throws PortholeError `sandbox_not_found`, `invalid_request`, and whatever the provider refuses
 */
export async function createRun(
  deps: CreateRunDeps,
  caller: Person,
  wanted: NewRun,
  signal?: AbortSignal,
): Promise<{ run: RunRecord; agentToken: string }> {
  const { records, tokens, clock, ids } = deps;
  const begin = async (sandboxId: string, made?: SandboxRecord) => {
    const now = clock.now();
    const run: RunRecord = {
      id: ids.run(),
      owner: ownerOf(caller),
      title: wanted.title ?? null,
      sandboxId,
      autoApproveTools: wanted.autoApproveTools,
      status: 'running',
      tokenKid: tokens.currentKid(),
      createdAt: now,
      completedAt: null,
    };
    const expiresAt = new Date(now.getTime() + AGENT_TOKEN_HOURS * 3_600_000);
    const agentToken = await tokens.signAgent({ runId: run.id, expiresAt });
    await records.runs.create(run, [runCreated(run), ...(made === undefined ? [] : [sandboxCreated(made)])]);
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
