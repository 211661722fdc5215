import { z } from 'zod';
import { exitOutcome } from '#core/processes/exit-outcome.ts';
import type { ProcessInfo } from '#protocol/guest/processes-protocol.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';

const Exit = z
  .object({
    code: z.int().describe('128 + n after signal n'),
    signal: z.int().optional(),
    timedOut: z.boolean(),
  })
  .meta({ id: 'BridgeExit' });
const Failure = z.object({ code: z.string(), message: z.string() }).meta({ id: 'BridgeFailure' });

const State = z.enum(['running', 'exited', 'error']);

export const ProcessStatusDto = z
  .object({
    id: z.string(),
    pid: z.int(),
    command: z.array(z.string()),
    cwd: z.string(),
    state: State.describe('`error`: it ended with its sandbox'),
    startedAt: z.iso.datetime(),
    endedAt: z.iso.datetime().optional(),
    exit: Exit.optional(),
    error: Failure.optional(),
  })
  .meta({ id: 'BridgeProcess' });

export const TerminalSnapshotDto = z
  .object({
    id: z.string(),
    pid: z.int(),
    command: z.array(z.string()),
    cwd: z.string(),
    status: State,
    exit: Exit.optional(),
    error: Failure.optional(),
  })
  .meta({ id: 'BridgeTerminal' });

export const BridgeTerminalPath = SandboxPath.extend({
  tid: z
    .string()
    .max(200)
    .describe('Terminal id, as POST …/terminals returns it')
    .meta({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
});

function shownOf({ id, last_pid: pid, argv: command, cwd }: ProcessInfo) {
  return { id, pid: pid ?? 0, command, cwd };
}

export function toProcessStatus(process: ProcessInfo): z.infer<typeof ProcessStatusDto> {
  const { exit, started_at: startedAt } = process;
  const shown = { ...shownOf(process), startedAt };
  if (exit === null) return { ...shown, state: 'running' };
  return { ...shown, endedAt: exit.at, ...exitOutcome(exit) };
}

export function toTerminalSnapshot(process: ProcessInfo): z.infer<typeof TerminalSnapshotDto> {
  if (process.exit === null) return { ...shownOf(process), status: 'running' };
  const { state: status, ...outcome } = exitOutcome(process.exit);
  return { ...shownOf(process), status, ...outcome };
}
