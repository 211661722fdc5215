import type { SandboxRecord } from './sandbox-records.ts';
import type { SandboxProvider } from './sandbox-provider.ts';
import { lifecycleDecision, type LifecycleLimits, type LifecycleDecision } from './sandbox-lifecycle.ts';
import { isOfPool } from './sandbox-owner.ts';
import { endSandbox, type EndSandboxDeps } from './end-sandbox.ts';
import { everyItem } from '../shared/reads.ts';

export interface LifecycleDeps extends EndSandboxDeps {
  readonly place: string;
  readonly limits: LifecycleLimits;
  /** Told of a sandbox that could not be looked after; the next pass tries again. */
  readonly failed: (sandboxId: string, error: unknown) => void;
  /**
   * Keeps what is in one that is to be destroyed after its retention. Where that fails it is not
   * destroyed. @default nothing is kept
   */
  readonly archive?: ((sandbox: SandboxRecord, signal?: AbortSignal) => Promise<void>) | undefined;
}

export type LifecyclePass = Readonly<Record<Exclude<LifecycleDecision, 'keep'>, number>>;

/**
 * One pass over the sandboxes of this installation: idle ones are stopped, stopped ones destroyed
 * after their retention, and what a crash left half done is done. Any number of passes may run at
 * once, and each may be cut off anywhere: the next one goes on.
 */
export async function keepLifecycle(deps: LifecycleDeps, signal?: AbortSignal): Promise<LifecyclePass> {
  const { records, clock, place, limits, failed } = deps;
  const done = { stop: 0, lapse: 0, finish_stop: 0, expire: 0, finish_destroy: 0 };
  const inUse = await previewsInUse(deps, signal);
  for await (const sandbox of everyItem((page) => records.sandboxes.live(page, place))) {
    if (isOfPool(sandbox)) continue;
    signal?.throwIfAborted();
    const decision = lifecycleDecision(sandbox, clock.now(), limits, inUse.get(sandbox.id));
    if (decision === 'keep') continue;
    try {
      if (await carryOut(deps, sandbox, decision, signal)) done[decision] += 1;
    } catch (error) {
      failed(sandbox.id, error);
    }
  }
  return done;
}

/**
 * Until when previews of a sandbox live, where their traffic does not pass this process: one that
 * lives is in use.
 */
async function previewsInUse(
  { plane }: LifecycleDeps,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, Date>> {
  const until = new Map<string, Date>();
  if (plane.seesTraffic) return until;
  for await (const { sandboxId, expiresAt } of plane.list({}, signal)) {
    const known = until.get(sandboxId);
    if (expiresAt !== undefined && (known === undefined || expiresAt > known))
      until.set(sandboxId, expiresAt);
  }
  return until;
}

/** False where somebody else was quicker, or was active in between. */
async function carryOut(
  deps: LifecycleDeps,
  sandbox: SandboxRecord,
  decision: Exclude<LifecycleDecision, 'keep'>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { records, provider, clock } = deps;
  const { sandboxes } = records;
  if (decision === 'expire') await deps.archive?.(sandbox, signal);
  const now = clock.now();
  if (decision === 'stop' || decision === 'lapse') {
    const won = await sandboxes.moveDesired(sandbox, 'running', 'stopped', now, sandbox);
    if (!won) return false;
  }
  if (decision === 'lapse') await expireProcesses(provider, sandbox.id);
  if (decision === 'stop' || decision === 'lapse' || decision === 'finish_stop') {
    await provider.stop(sandbox.id);
    await sandboxes.setObserved(sandbox.id, 'stopped', sandbox.generation);
    return true;
  }
  if (decision === 'expire' && !(await sandboxes.moveDesired(sandbox, 'stopped', 'destroyed', now))) {
    return false;
  }
  await endSandbox(deps, sandbox);
  return true;
}

/** A guest that does not answer must not keep its sandbox from stopping. In milliseconds. */
const EXPIRES_WITHIN_MS = 2_000;

/**
 * Processes that end with the sandbox say `expired`, and not `sandbox_stopped`, where the guest's
 * output outlives the stop.
 */
async function expireProcesses(provider: SandboxProvider, id: string): Promise<void> {
  try {
    const call = { method: 'POST', path: '/v1/expire', answerWithin: EXPIRES_WITHIN_MS } as const;
    (await provider.callGuest(id, call)).resume();
  } catch {
    // It does not run any more.
  }
}
