import { once } from 'node:events';
import { connect } from 'node:net';
import { SANDBOX_LABELS, selector } from '#constructs/names.ts';
import { anySignal } from '#base/concurrency.ts';
import { GUEST_PORT } from '#protocol/guest/guest-pod.ts';
import { GUEST_PREVIEW_PORT } from '#protocol/guest/previews-protocol.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import type { Collection } from '../client/kubernetes-object.ts';
import { type Pod, podState } from './pod-state.ts';

/** A connection that is dropped has no answer; another pod answers within a few ms. */
const CONNECTS_WITHIN_MS = 1_500;

/** Sandboxes that are tried until one can tell. */
const MOST = 5;

/**
 * Whether something enforces the network policies of sandboxes, for a caller in a pod of the
 * functions: it may call a guest, and not the port that the guest has for the Gateway.
 * @returns undefined if no sandbox runs that could tell
 */
export async function enforcesPolicies(
  client: Pick<KubernetesClient, 'list'>,
  pods: Collection,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  let tried = 0;
  for await (const each of client.list<Pod>(pods, { labelSelector: selector(SANDBOX_LABELS) }, signal)) {
    const now = podState(each);
    if (now.state !== 'running' || now.pod.address === undefined || now.pod.guestKeys === undefined) continue;
    if (await accepts(now.pod.address, GUEST_PORT, signal))
      return !(await accepts(now.pod.address, GUEST_PREVIEW_PORT, signal));
    tried += 1;
    if (tried === MOST) break;
  }
  return undefined;
}

async function accepts(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: anySignal(signal, AbortSignal.timeout(CONNECTS_WITHIN_MS)) });
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  } finally {
    socket.destroy();
  }
}
