import type { ProcessInfo, StartedBy } from '#protocol/guest/processes-protocol.ts';
import type { Caller } from '../callers.ts';
import { type ErrorCode, PortholeError } from '#base/errors.ts';
import { Guest, type Guests } from './guest.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { findSandbox } from '../sandboxes/resume-sandbox.ts';
import type { SandboxActivity } from '../sandboxes/sandbox-activity.ts';
import { useSandbox, type UseSandboxDeps } from '../sandboxes/use-sandbox.ts';

export interface GuestDeps extends UseSandboxDeps {
  readonly guests: Guests;
  readonly activity: SandboxActivity;
}

export interface ReachedGuest {
  readonly guest: Guest;
  readonly sandbox: SandboxRecord;
}

/**
 * For calls that start something: resumes a stopped or dead sandbox, and counts as use.
 * @throws PortholeError what `useSandbox` and the guest throw
 */
export async function startInGuest<T>(
  deps: GuestDeps,
  caller: Caller,
  id: string,
  start: (reached: ReachedGuest) => Promise<T>,
): Promise<T> {
  const sandbox = await useSandbox(deps, caller, id, { agents: true });
  // Unlike `deps.guests`, the provider counts its calls as use and restarts a sandbox that died.
  return start({ guest: new Guest(deps.sandboxes, id), sandbox });
}

/**
 * For calls that read or change something existing: resumes nothing, and does not count as use.
 * @throws PortholeError `sandbox_not_found`, `sandbox_not_running`
 */
export async function reachGuest(
  deps: Pick<GuestDeps, 'records' | 'guests'>,
  caller: Caller,
  id: string,
): Promise<ReachedGuest> {
  const sandbox = await findSandbox(deps, caller, id, { agents: true });
  if (sandbox.desired !== 'running' || sandbox.observed !== 'running') {
    throw new PortholeError('sandbox_not_running', `Sandbox ${id} is ${sandbox.observed}`, {
      remedy: `POST /v1/sandbox/${id}/resume starts it and its declared servers.`,
    });
  }
  return { guest: deps.guests.of(id), sandbox };
}

/** Who starts something: known to the host, never taken from a body. */
export function startedBy(caller: Caller): StartedBy {
  if (caller.kind === 'person') return { kind: 'person', id: caller.user };
  if (caller.kind === 'agent') return { kind: 'agent', id: caller.runId };
  return { kind: 'delegate', id: caller.delegationId };
}

/**
 * Whether the caller may see and use it. A delegate with a list of commands gets only what it
 * started: the input of another's shell would run any command.
 */
export function mayUseStarted(caller: Caller, { started_by }: Pick<ProcessInfo, 'started_by'>): boolean {
  if (caller.kind !== 'delegate' || caller.grant.commands === null) return true;
  return started_by.kind === 'delegate' && started_by.id === caller.delegationId;
}

/** Maps a general error code of the guest to the code of the resource. */
export async function withCodes<T>(
  call: Promise<T>,
  codes: Partial<Record<'not_found' | 'conflict', ErrorCode>>,
): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const code = error instanceof PortholeError && codes[error.code as keyof typeof codes];
    if (!(error instanceof PortholeError) || code === undefined || code === false) throw error;
    const { message, details, cause } = error;
    throw new PortholeError(code, message, { details, cause });
  }
}
