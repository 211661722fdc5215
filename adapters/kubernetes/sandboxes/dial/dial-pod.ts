import { PortholeError } from '#core/errors.ts';
import type { Collection } from '../../client/collection.ts';
import type { ClusterStreams } from '../cluster/cluster-streams.ts';
import { runPlain } from '../exec/run-plain.ts';
import type { RunningPod } from '../exec/running-pod.ts';
import { transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { FORWARD_SUBPROTOCOL } from './forward-messages.ts';
import { isTaken } from './listening.ts';
import { PortStream } from './port-stream.ts';

/** Longest wait for a refusal that must come, and for a look into the pod, in milliseconds. */
const SETTLE_MS = 10_000;

/** Opens streams to ports of pods. */
export interface PodDialer {
  /** @throws PortholeError `nothing_listens`, `exec_transport_error`; KubernetesError where the API server refuses */
  dial(id: string, pod: RunningPod, port: number, signal?: AbortSignal): Promise<PortStream>;
}

/**
 * A port-forward tells when it is refused, and nothing when it is not. So whoever does not greet is looked up in the pod's own tables of connections; many dials of
 * one port at a time look once.
 */
export function createPodDialer(streams: ClusterStreams, pods: Collection): PodDialer {
  const looks = new Map<string, Promise<boolean>>();

  const look = (pod: RunningPod, port: number): Promise<boolean> => {
    const key = `${pod.uid} ${port}`;
    const present = looks.get(key);
    if (present !== undefined) return present;
    const argv = ['cat', '/proc/net/tcp', '/proc/net/tcp6'];
    const looked = runPlain(streams, pods, pod, argv, AbortSignal.timeout(SETTLE_MS)).then(({ stdout }) =>
      isTaken(stdout, port),
    );
    looks.set(key, looked);
    const forget = (): void => void looks.delete(key);
    looked.then(forget, forget);
    return looked;
  };

  return {
    dial: async (id, pod, port, signal) => {
      const path = `${pods.path}/${pod.name}/portforward?ports=${port}`;
      const request = { path, what: `portforward to pods ${pod.name}` };
      const stream = new PortStream(await streams.socket(request, FORWARD_SUBPROTOCOL, signal), { id, port });
      const abort = (): void => void stream.destroy(signal?.reason as Error);
      signal?.addEventListener('abort', abort);
      if (signal?.aborted) abort();
      // A refusal is on its way where the port is not taken; where the look fails, the stream itself is all there is to go by.
      const looking = look(pod, port).catch(() => undefined);
      const taken = looking.then((is) => (is === true ? undefined : refusalOf(stream)));
      try {
        await Promise.race([stream.settled, taken]);
      } catch (error) {
        stream.destroy();
        const isRefused = error instanceof PortholeError && error.code === 'nothing_listens';
        if (isRefused && (await looking) === true) throw transportError(id, UNREACHED, error);
        throw error;
      } finally {
        signal?.removeEventListener('abort', abort);
      }
      return stream;
    },
  };
}

/** So it is with gVisor, whose network the port-forward of the container runtime does not enter. */
const UNREACHED =
  'its port-forward is refused although the port is taken: the runtime of its pod may know none';

/** Waits for the refusal of a connection; one that is not refused is as good as taken. */
async function refusalOf(stream: PortStream): Promise<void> {
  const timer = Promise.withResolvers<void>();
  const timeout = setTimeout(timer.resolve, SETTLE_MS);
  try {
    await Promise.race([stream.settled, timer.promise]);
  } finally {
    clearTimeout(timeout);
  }
}
