import { sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import type { PortholeError } from '#core/errors.ts';
import type { Collection } from '../../client/collection.ts';
import { isTimeout } from '../cluster/settle.ts';
import { awaitObject, type Watching } from '../cluster/await-object.ts';
import type { RunningPod } from '../exec/running-pod.ts';
import type { Pod } from './pod.ts';
import { podState } from './pod-state.ts';

/**
 * Waits until commands can run in a pod. `gone` judges a pod that is not there, or on its way out: an error ends the wait.
 * @throws PortholeError `sandbox_not_running` with what keeps the pod, as soon as it is beyond hope, or when a time limit aborts the wait
 */
export async function awaitPod(
  watching: Watching,
  pods: Collection,
  name: string,
  id: string,
  until: AbortSignal,
  gone: () => PortholeError | undefined,
): Promise<RunningPod> {
  let reason = 'its pod is not there yet';
  try {
    return await awaitObject<Pod, RunningPod>(
      watching,
      pods,
      name,
      (pod) => {
        const now = podState(pod);
        if (now.state === 'running') return now.pod;
        if (now.state === 'absent' || now.state === 'ending') {
          const error = gone();
          if (error !== undefined) throw error;
          return undefined;
        }
        ({ reason } = now);
        if (now.state === 'ended' || now.isHopeless) throw sandboxNotRunning(id, reason);
        return undefined;
      },
      until,
    );
  } catch (error) {
    if (isTimeout(until)) throw sandboxNotRunning(id, reason, error);
    throw error;
  }
}
