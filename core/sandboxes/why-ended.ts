import { setTimeout as pause } from 'node:timers/promises';
import type { Records } from '../records.ts';
import type { SandboxRecord } from './sandbox-records.ts';
import type { Sandboxes } from './sandbox-provider.ts';
import { hasLapsed } from './sandbox-lifecycle.ts';

/**
 * Polling intervals for a sandbox that may have died, in milliseconds: the end of a command can be
 * observed before the end of its sandbox.
 */
const POLLS_MS = [0, 250];

export interface WhyEndedDeps {
  readonly records: Pick<Records, 'sandboxes'>;
  readonly sandboxes: Pick<Sandboxes, 'inspect'>;
}

/**
 * What happened to the sandbox of a command or a terminal that was lost, and what to call next.
 * Undefined where the sandbox runs, or its state is unknown: then only the connection was lost.
 * Never rejects.
 * @param generation undefined: any
 */
export async function whyEnded(
  { records, sandboxes }: WhyEndedDeps,
  { id, generation }: Pick<SandboxRecord, 'id'> & Partial<Pick<SandboxRecord, 'generation'>>,
  what: 'command' | 'terminal',
): Promise<string | undefined> {
  const again = what === 'command' ? 'Run the command again' : 'Open the terminal again';
  try {
    const found = await records.sandboxes.get(id);
    if (found === undefined) return undefined;
    if (found.desired === 'destroyed' || found.generation !== (generation ?? found.generation)) {
      return `Sandbox ${id} was deleted, and its ${what} ended with it. Create a sandbox with POST /v1/sandbox.`;
    }
    if (found.desired === 'stopped') {
      const resume = `POST /v1/sandbox/${id}/resume brings it back with its files`;
      const { stoppedFor } = await sandboxes.inspect(id);
      const why = stoppedFor === undefined ? '' : ` (${stoppedFor})`;
      return hasLapsed(found)
        ? `Sandbox ${id} expired: no heartbeat came within its ttl_seconds of ${found.ttlSeconds}. Its ${what} ended with it. ${resume}; POST /v1/sandbox/${id}/heartbeat keeps it.`
        : `Sandbox ${id} was stopped${why}, and its ${what} ended with it. ${resume}.`;
    }
    for (const wait of POLLS_MS) {
      await pause(wait);
      const { state, reason } = await sandboxes.inspect(id);
      if (state === 'running') continue;
      return `Sandbox ${id} is no longer running${reason === undefined ? '' : ` (${reason})`}, and its ${what} ended with it. ${again}: that brings the sandbox back with its files.`;
    }
  } catch {
    // Only the loss of the connection is certain.
  }
  return undefined;
}
