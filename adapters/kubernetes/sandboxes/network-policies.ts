import { once } from 'node:events';
import { connect } from 'node:net';
import { anySignal } from '#base/concurrency.ts';
import { GUEST_PORT } from '#protocol/guest/guest-pod.ts';
import { GUEST_PREVIEW_PORT } from '#protocol/guest/previews-protocol.ts';
import type { RunningPod } from './pod-state.ts';

/** A connection that is dropped has no answer; another pod answers within a few ms. */
const CONNECTS_WITHIN_MS = 1_000;

/**
 * Whether a sandbox refuses this pod the port that its guest has for the Gateway. Pods of the
 * functions may try both of its ports; the policies of sandboxes let only one in.
 * @returns undefined if the guest does not answer
 */
export async function refusesGatewayPort(
  { address, guestKeys }: RunningPod,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  if (address === undefined || guestKeys === undefined) return undefined;
  if (!(await accepts(address, GUEST_PORT, signal))) return undefined;
  return !(await accepts(address, GUEST_PREVIEW_PORT, signal));
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
