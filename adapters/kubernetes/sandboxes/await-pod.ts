import { setTimeout as pause } from 'node:timers/promises';
import { sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#core/errors.ts';
import type { Collection } from '../client/kubernetes-object.ts';
import { awaitSettled, type Watching } from './cluster-objects.ts';
import { type Pod, podState, type RunningPod } from './pod-state.ts';

/**
 * Waits until commands can run in a pod. `gone` is called for a pod that is absent or terminating:
 * an error that it returns ends the wait.
 * @throws PortholeError `sandbox_not_running` with the pod's reason, once it can never start or on
 * a timeout
 */
export async function awaitPod(
  watching: Watching,
  pods: Collection,
  name: string,
  id: string,
  until: AbortSignal,
  gone: () => PortholeError | undefined,
): Promise<RunningPod> {
  const pod = { from: pods, name, reason: 'its pod is not there yet' };
  return awaitSettled<Pod, RunningPod>(watching, id, pod, until, (found) => {
    const now = podState(found);
    if (now.state === 'running') return { settled: now.pod };
    if (now.state === 'absent' || now.state === 'ending') {
      const error = gone();
      if (error !== undefined) throw error;
      return undefined;
    }
    if (now.state === 'ended' || now.isHopeless) throw sandboxNotRunning(id, now.reason);
    return now;
  });
}

/**
 * How long a pod may be without a node, in milliseconds: time to bind its volume and to preempt
 * others, but less than the timeouts of callers and proxies.
 */
export const NODE_WITHIN_MS = 20_000;

/** Polls of the pod within that time. */
const LOOKS = 10;

/**
 * Runs work that waits for a pod, and aborts it with the scheduler's reason when no node is found
 * in time.
 * @param noNode called once, as soon as the scheduler finds no node
 * @throws PortholeError `capacity_exceeded`
 */
export async function withNode<T>(
  id: string,
  until: AbortSignal,
  look: (signal: AbortSignal) => Promise<Pod | undefined>,
  work: (until: AbortSignal) => Promise<T>,
  nodeWithinMs: number,
  noNode: () => Promise<void> = () => Promise.resolve(),
): Promise<T> {
  const over = new AbortController();
  const limit = AbortSignal.any([until, over.signal]);
  const watch = async (): Promise<void> => {
    let since: number | undefined;
    let called = false;
    while (!limit.aborted) {
      await pause(nodeWithinMs / LOOKS, undefined, { signal: limit, ref: false });
      const now = podState(await look(limit).catch(() => undefined));
      if (now.state !== 'creating' || now.hasNoNode !== true) {
        since = undefined;
        continue;
      }
      since ??= performance.now();
      if (performance.now() - since >= nodeWithinMs) return over.abort(noRoom(id, now.reason));
      if (called) continue;
      called = true;
      await noNode().catch(() => undefined);
    }
  };
  watch().catch(() => undefined);
  try {
    return await work(limit);
  } finally {
    over.abort();
  }
}

function noRoom(id: string, reason: string): PortholeError {
  return new PortholeError(
    'capacity_exceeded',
    `Sandbox ${id}: the cluster has no room for it (${reason}).`,
    { remedy: 'Stop or destroy a sandbox, or add a node.' },
  );
}
