import { createHash } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';
import type { Records } from '../../ports/records.ts';
import type { RunRecord } from '../../ports/run-records.ts';
import type { SandboxRecord } from '../../ports/sandbox-records.ts';
import type { Tokens } from '../../ports/tokens.ts';
import { base32 } from '../../rules/preview-token.ts';
import { runCreated } from '../../rules/run-events.ts';

export interface ImplicitRunDeps {
  readonly records: Pick<Records, 'runs'>;
  readonly tokens: Pick<Tokens, 'currentKid'>;
  readonly clock: Clock;
}

/** The id of the run that a sandbox has without anybody making one: the same whoever asks, another one for whatever takes over the sandbox's id. */
export function implicitRunId({ id, generation }: Pick<SandboxRecord, 'id' | 'generation'>): string {
  const hash = createHash('sha256').update(`implicit run of ${id} ${generation}`).digest();
  return `run_${base32(hash.subarray(0, 16))}`;
}

/** The run of a sandbox that its tunnels belong to, made on first use; the sandbox's owner owns it. */
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
    createdAt: clock.now(),
    completedAt: null,
  };
  try {
    await records.runs.create(run, [runCreated(run)]);
    return run;
  } catch (error) {
    // Somebody else made it in the same instant.
    const made = await records.runs.get(id);
    if (made === undefined) throw error;
    return made;
  }
}
