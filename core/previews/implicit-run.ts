import { createHash } from 'node:crypto';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Tokens } from '../auth/authenticator.ts';
import type { Records } from '../records.ts';
import { runCreated } from '../runs/run-events.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { SandboxKey, SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { base32 } from './preview-token.ts';

export interface ImplicitRunDeps {
  readonly records: Pick<Records, 'runs'>;
  readonly tokens: Pick<Tokens, 'currentKid'>;
  readonly clock: Clock;
}

/**
 * The id of a sandbox's implicit run: the same for every caller, and another one for a later
 * sandbox with the same id.
 */
export function implicitRunId({ id, generation }: SandboxKey): string {
  const hash = createHash('sha256').update(`implicit run of ${id} ${generation}`).digest();
  return `run_${base32(hash.subarray(0, 16))}`;
}

/**
 * The run for the tunnels and ports of a sandbox, created on first use. The sandbox's owner owns
 * it, and it has no agent.
 */
export async function implicitRun(
  { records, tokens, clock }: ImplicitRunDeps,
  sandbox: SandboxRecord,
): Promise<RunRecord> {
  const id = implicitRunId(sandbox);
  const known = await records.runs.get(id);
  if (known !== undefined) return known;
  const run: RunRecord = {
    id,
    owner: sandbox.owner,
    title: `Tunnels of sandbox ${sandbox.id.slice(0, 26)}`,
    sandboxId: sandbox.id,
    autoApproveTools: false,
    status: 'running',
    tokenKid: tokens.currentKid(),
    sharing: 'private',
    tokenVersion: 0,
    createdAt: clock.now(),
    completedAt: null,
  };
  try {
    await records.runs.create(run, [runCreated(run)]);
    return run;
  } catch (error) {
    // A concurrent request created it.
    const made = await records.runs.get(id);
    if (made === undefined) throw error;
    return made;
  }
}
