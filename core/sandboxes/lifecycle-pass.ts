import { withReason } from '../audit/present-cause.ts';
import type { SandboxRecord } from './sandbox-records.ts';
import type { Preview } from '../previews/preview-plane.ts';
import type { Sandboxes } from './sandbox-provider.ts';
import { lifecycleDecision, type LifecycleLimits, type LifecycleDecision } from './sandbox-lifecycle.ts';
import { isOfPool } from './sandbox-owner.ts';
import { emptyAnswer } from '../processes/guest-answers.ts';
import { endSandbox, type EndSandboxDeps } from './end-sandbox.ts';
import { stopSandbox, stopUnlessUsed } from './resume-sandbox.ts';
import { asEssential } from '#base/essential-work.ts';
import { everyItem } from '#base/reads.ts';

export interface LifecycleDeps extends EndSandboxDeps {
  readonly installationId: string;
  readonly limits: LifecycleLimits;
  /** Called for each sandbox that failed; the next pass retries. */
  readonly failed: (sandboxId: string, error: unknown) => void;
  /**
   * Archives a sandbox before it is destroyed after its retention. If that fails, it is not
   * destroyed. @default no archive
   */
  readonly archive?: ((sandbox: SandboxRecord, signal?: AbortSignal) => Promise<void>) | undefined;
  /**
   * Called with the previews of a sandbox that is left as it is, in a cluster: they may lead
   * elsewhere than its state demands. @default nothing is mended
   */
  readonly reconcile?:
    | ((sandbox: SandboxRecord, previews: readonly Preview[], signal?: AbortSignal) => Promise<void>)
    | undefined;
}

export type LifecyclePass = Readonly<Record<Exclude<LifecycleDecision, 'keep'>, number>>;

/**
 * One pass over the sandboxes of this installation: stops idle ones, destroys stopped ones after
 * their retention, and finishes what a crash interrupted. Passes may run concurrently and may be
 * killed at any point: the next one continues.
 */
export async function keepLifecycle(deps: LifecycleDeps, signal?: AbortSignal): Promise<LifecyclePass> {
  const { records, clock, installationId, limits, failed } = deps;
  const done = { stop: 0, lapse: 0, time_out: 0, finish_stop: 0, expire: 0, finish_destroy: 0 };
  // Read before the records: a preview that is attached later has another version.
  const live = await previewsBySandbox(deps, signal);
  for await (const sandbox of everyItem((page) => records.sandboxes.live(page, installationId))) {
    if (isOfPool(sandbox)) continue;
    signal?.throwIfAborted();
    const previews = live.get(sandbox.id) ?? [];
    const decision = lifecycleDecision(sandbox, clock.now(), limits, lastExpiry(previews));
    try {
      if (decision === 'keep') await deps.reconcile?.(sandbox, previews, signal);
      else if (await withReason(decision, () => asEssential(() => carryOut(deps, sandbox, decision, signal))))
        done[decision] += 1;
    } catch (error) {
      failed(sandbox.id, error);
    }
  }
  return done;
}

/** The live previews, if their traffic does not pass through this process: they count as use. */
async function previewsBySandbox(
  { plane }: LifecycleDeps,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, readonly Preview[]>> {
  const live: Preview[] = [];
  if (plane.seesTraffic) return new Map();
  for await (const preview of plane.list({}, signal)) live.push(preview);
  return Map.groupBy(live, ({ sandboxId }) => sandboxId);
}

function lastExpiry(previews: readonly Preview[]): Date | undefined {
  const expiries = previews.flatMap(({ expiresAt }) =>
    expiresAt === undefined ? [] : [expiresAt.getTime()],
  );
  return expiries.length === 0 ? undefined : new Date(Math.max(...expiries));
}

/** False if another process acted first, or the sandbox was used in between. */
async function carryOut(
  deps: LifecycleDeps,
  sandbox: SandboxRecord,
  decision: Exclude<LifecycleDecision, 'keep'>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { records, sandboxes, clock } = deps;
  if (decision === 'expire') await deps.archive?.(sandbox, signal);
  if (decision === 'stop') return stopUnlessUsed(deps, sandbox);
  if (decision === 'time_out' && sandbox.onTimeout === 'stop') {
    await stopSandbox(deps, sandbox);
    return true;
  }
  if (decision === 'lapse') {
    return stopUnlessUsed(deps, sandbox, () => expireProcesses(sandboxes, sandbox.id));
  }
  if (decision === 'finish_stop') {
    await sandboxes.stop(sandbox.id);
    await records.sandboxes.setObserved(sandbox.id, 'stopped', sandbox.generation);
    return true;
  }
  if (
    decision === 'expire' &&
    !(await records.sandboxes.moveDesired(sandbox, 'stopped', 'destroyed', clock.now()))
  ) {
    return false;
  }
  await endSandbox(deps, sandbox);
  return true;
}

/** An unresponsive guest must not keep its sandbox from stopping. In milliseconds. */
const EXPIRES_WITHIN_MS = 2_000;

/**
 * Makes processes report `expired` instead of `sandbox_stopped`, where the guest's output outlives
 * the stop.
 */
async function expireProcesses(sandboxes: Sandboxes, id: string): Promise<void> {
  try {
    const call = { method: 'POST', path: '/v1/expire', answerWithin: EXPIRES_WITHIN_MS } as const;
    await emptyAnswer(await sandboxes.callGuest(id, call), id, EXPIRES_WITHIN_MS);
  } catch {
    // The sandbox is no longer running.
  }
}
