import {
  type AutomaticDeps,
  checkpointBeforeCommand,
  isListedCommand,
  takeAutomatic,
} from '#core/checkpoints/automatic-checkpoints.ts';
import type { Services } from '../services.ts';

type AutomaticServices = Pick<Services, 'records' | 'sandboxes' | 'checkpoints' | 'clock' | 'ids' | 'log'>;

/** Undefined where checkpoints are made on request only. */
export function automaticOf(services: AutomaticServices): AutomaticDeps | undefined {
  const { checkpoints, log } = services;
  if (checkpoints?.automatic === undefined) return undefined;
  return {
    ...services,
    ...checkpoints,
    failed: (sandboxId, cause, err) =>
      log.warn({ err, sandbox_id: sandboxId, cause }, 'automatic checkpoint not made'),
  };
}

/** Keeps what a person sees who decides about a request. The request does not wait. */
export function checkpointAtApproval(services: AutomaticServices, sandboxId: string): void {
  const deps = automaticOf(services);
  if (deps !== undefined) void takeAutomatic(deps, sandboxId, 'approval');
}

/** Before a command that the settings list. */
export async function checkpointAtCommand(
  services: AutomaticServices,
  sandboxId: string,
  argv: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const deps = automaticOf(services);
  const commands = services.checkpoints?.automatic?.commands ?? [];
  if (deps !== undefined && isListedCommand(argv, commands))
    await checkpointBeforeCommand(deps, sandboxId, signal);
}
