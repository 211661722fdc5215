import { randomBytes } from 'node:crypto';
import type { SandboxVolumes } from './containers/sandbox-volume.ts';
import type { EngineFacts } from './engine/engine-facts.ts';

export interface EngineProbe extends EngineFacts {
  /** Whether /workspace is held to its size. */
  readonly hasQuotas: boolean;
  /** What to tell whoever runs this, in sentences. */
  readonly warnings: readonly string[];
}

/** What an engine enforces of the limits of sandboxes. @throws EngineError where it cannot be reached */
export async function probeEngine(facts: EngineFacts, volumes: SandboxVolumes): Promise<EngineProbe> {
  const hasQuotas = await volumes.probe(`porthole-probe-${randomBytes(8).toString('hex')}`, {});
  const warnings = facts.unenforced.map(
    (limit) =>
      `The container engine's kernel enforces no limit of ${limit}: one sandbox can starve the machine.`,
  );
  if (!hasQuotas) warnings.push(NO_QUOTAS);
  return { ...facts, hasQuotas, warnings };
}

const NO_QUOTAS =
  "The container engine's volumes know no quotas, so /workspace may grow until the disk is full (no single file beyond the limit): put the engine's data on XFS with project quotas.";
