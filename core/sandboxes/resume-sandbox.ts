import { type Caller, mayReachSandbox } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import { asEssential } from '#base/essential-work.ts';
import { singleFlight } from '#base/concurrency.ts';
import type { Records } from '../records.ts';
import { quotaLimitsOf } from './create-sandbox.ts';
import { checkSandboxId } from './sandbox-owner.ts';
import type { Sandboxes } from './sandbox-provider.ts';
import type { MakeRoom } from './make-room.ts';
import { quotaExceeded, quotaOf, type Quotas } from './sandbox-quotas.ts';
import type { SandboxRecord } from './sandbox-records.ts';
import { requireBudget } from '../usage/spent-budget.ts';
import { noteTurnOwner } from './turn-owners.ts';

export function sandboxNotFound(id: string): PortholeError {
  return new PortholeError('sandbox_not_found', `Sandbox ${id} does not exist`, {
    remedy: 'POST /v1/sandbox creates one.',
  });
}

/**
 * The sandbox, if the caller may use it. `agents`: whether the agent of its run may.
 * @throws PortholeError `invalid_request`, `sandbox_not_found` (also for a sandbox of another
 * owner: its existence must not leak)
 */
export async function findSandbox(
  { records }: { readonly records: Records },
  caller: Caller,
  id: string,
  { agents = false }: { readonly agents?: boolean } = {},
): Promise<SandboxRecord> {
  const sandbox = await records.sandboxes.get(checkSandboxId(id));
  if (sandbox === undefined || sandbox.desired === 'destroyed') throw sandboxNotFound(id);
  if (!(await mayReachSandbox({ records }, caller, sandbox, agents))) throw sandboxNotFound(id);
  noteTurnOwner(sandbox);
  return sandbox;
}

interface ResumeSandboxDeps {
  readonly records: Pick<Records, 'sandboxes' | 'capacity' | 'usage'>;
  readonly sandboxes: Pick<Sandboxes, 'resume' | 'stop' | 'defaultSize'>;
  readonly clock: Clock;
  /** Quotas of running sandboxes by owner. */
  readonly quotas: Quotas;
  /** @default a resume over quota is refused */
  readonly makeRoom?: MakeRoom | undefined;
}

/**
 * Starts a sandbox on its files: a stopped one, or one that should run and does not, because its
 * last resume failed or it died. The desired state is recorded first, so that a lifecycle pass does
 * not stop it again.
 * @throws PortholeError `quota_exceeded` if its owner would exceed the quota, and the provider's
 * errors
 */
export function resumeSandbox(deps: ResumeSandboxDeps, sandbox: SandboxRecord): Promise<SandboxRecord> {
  // On a full disk a person deletes files in it.
  return asEssential(() => resume(deps, sandbox));
}

async function resume(
  { records, sandboxes, clock, quotas, makeRoom }: ResumeSandboxDeps,
  sandbox: SandboxRecord,
): Promise<SandboxRecord> {
  const now = clock.now();
  await records.sandboxes.touch(sandbox, now);
  const { owner } = sandbox;
  await requireBudget({ records, clock }, quotas.budgets, owner);
  const wake = () => records.capacity.wake(sandbox, now, quotaLimitsOf({ quotas, sandboxes }, owner));
  let wakeResult = await wake();
  if (typeof wakeResult !== 'string' && (await makeRoom?.(owner)) === true) wakeResult = await wake();
  if (typeof wakeResult !== 'string') {
    const more = { sandboxes: 1, ...sandboxes.defaultSize, ...sandbox.resources, diskMb: 0 };
    const running = await records.capacity.wantedBy(owner, sandbox.place);
    throw quotaExceeded(quotaOf(quotas, owner), wakeResult, more, running, now);
  }
  // Single-flight in this process: otherwise each caller would inspect, wait and probe by itself.
  await singleFlight(records.sandboxes, `resume ${sandbox.id}`, () => sandboxes.resume(sandbox.id));
  const heartbeat =
    sandbox.ttlSeconds === null ? undefined : await records.sandboxes.heartbeat(sandbox, clock.now());
  await records.sandboxes.setObserved(sandbox.id, 'running', sandbox.generation);
  // The provider has updated the skills.
  const { skills } = (sandbox.skills.length > 0 && (await records.sandboxes.get(sandbox.id))) || sandbox;
  const { lastActiveAt, heartbeatAt } = heartbeat ?? { lastActiveAt: now, heartbeatAt: now };
  return {
    ...sandbox,
    desired: 'running',
    observed: 'running',
    stoppedAt: null,
    lastActiveAt,
    heartbeatAt,
    skills,
  };
}

interface StopSandboxDeps extends Pick<ResumeSandboxDeps, 'clock'> {
  readonly records: Pick<Records, 'sandboxes'>;
  readonly sandboxes: Pick<Sandboxes, 'stop' | 'suspend'>;
}

/** Ends every process in a sandbox and keeps its files. Resuming brings it back. */
export function stopSandbox(
  deps: StopSandboxDeps,
  sandbox: SandboxRecord,
  signal?: AbortSignal,
): Promise<SandboxRecord> {
  return asEssential(() => stop(deps, sandbox, signal));
}

async function stop(
  { records, sandboxes, clock }: StopSandboxDeps,
  sandbox: SandboxRecord,
  signal?: AbortSignal,
): Promise<SandboxRecord> {
  const now = clock.now();
  await records.sandboxes.moveDesired(sandbox, 'running', 'stopped', now);
  await sandboxes.stop(sandbox.id, signal);
  await records.sandboxes.setObserved(sandbox.id, 'stopped', sandbox.generation);
  return { ...sandbox, desired: 'stopped', observed: 'stopped', stoppedAt: sandbox.stoppedAt ?? now };
}

/**
 * Stops the sandbox if its record has not changed. Returns false if it was used in between, or
 * another process acted first. Its processes go on at its next use where the provider can save
 * their memory.
 * @param before runs in the sandbox before the stop, which then ends its processes
 */
export async function stopUnlessUsed(
  { records, sandboxes, clock }: StopSandboxDeps,
  sandbox: SandboxRecord,
  before?: () => Promise<void>,
): Promise<boolean> {
  const { id, generation } = sandbox;
  const won = await records.sandboxes.moveDesired(sandbox, 'running', 'stopped', clock.now(), sandbox);
  if (!won) return false;
  await before?.();
  if (before === undefined && sandboxes.suspend !== undefined) await sandboxes.suspend(id);
  else await sandboxes.stop(id);
  await records.sandboxes.setObserved(id, 'stopped', generation);
  return true;
}
