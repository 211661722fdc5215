import { once } from 'node:events';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { GuestClient } from '#adapters/guest/guest-client.ts';
import { sandboxNotRunning, transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#base/errors.ts';
import type { GuestConnection } from '#core/sandboxes/sandbox-provider.ts';
import { anySignal } from '#base/concurrency.ts';
import { retry } from '#base/retry.ts';
import { GUEST_PORT, type GuestKeys, operationOf, SANDBOX_HEADER } from '#protocol/guest/guest-pod.ts';
import { BROKER_HEADER } from '#protocol/guest/network.ts';
import type { Collection } from '../client/kubernetes-object.ts';
import { isTimeout } from './cluster-objects.ts';
import type { ClusterStreams } from './cluster-streams.ts';
import type { RunningPod } from './pod-state.ts';
import { FORWARD_SUBPROTOCOL, PortStream } from './port-stream.ts';

/** Longest time for a pod to accept a connection, in milliseconds. */
const CONNECT_MS = 10_000;

/**
 * How long a connection is quiet before the kernel asks whether its pod is still there, in
 * milliseconds. A pod that gVisor or its node takes with it ends none of its connections.
 */
const QUIET_MS = 5_000;

/** Poll interval for a guest that is still starting, in milliseconds. */
const PAUSE_MS = 50;

/** Error codes while a guest is still starting. */
const STARTING = new Set<string>(['exec_transport_error', 'nothing_listens']);

/** For a pod of an older Porthole, or of a template that is not Porthole's. */
const NO_GUEST = 'its pod runs no guest; stop and resume it, or put the guest into its template';

/**
 * How guests are reached: at their pods' addresses within the cluster, by port-forwards from
 * outside.
 */
export type GuestReach = 'address' | 'forward';

export interface GuestAccess {
  readonly keys: GuestKeys;
  readonly reach: GuestReach;
  /** The value of `BROKER_HEADER` for a sandbox's pod. @default no broker */
  readonly brokerAccess?: ((sandboxId: string, pod: RunningPod) => Promise<string>) | undefined;
}

interface PodGuestsOptions extends GuestAccess {
  readonly streams: ClusterStreams;
  readonly pods: Collection;
  /** @default GUEST_PORT */
  readonly port?: number | undefined;
}

export class PodGuests {
  readonly #options: PodGuestsOptions;
  readonly #open = new Set<Duplex>();

  constructor(options: PodGuestsOptions) {
    this.#options = options;
  }

  async client(id: string, pod: RunningPod): Promise<GuestClient> {
    // Loaded on demand, like in `guestCalls`.
    const { GuestClient } = await import('#adapters/guest/guest-client.ts');
    return new GuestClient({
      sandboxId: id,
      connect: (operation, signal) => this.connect(id, pod, operation, signal),
    });
  }

  /** @throws PortholeError `sandbox_not_running` where the pod runs no guest */
  async connect(
    id: string,
    pod: RunningPod,
    operation: string,
    signal?: AbortSignal,
  ): Promise<GuestConnection> {
    signal?.throwIfAborted();
    if (pod.guestKeys === undefined) throw sandboxNotRunning(id, NO_GUEST);
    const { brokerAccess, reach, port = GUEST_PORT } = this.#options;
    const broker = await brokerAccess?.(id, pod);
    const headers = {
      authorization: this.#token(id, pod, operation),
      [SANDBOX_HEADER]: id,
      ...(broker !== undefined && { [BROKER_HEADER]: broker }),
    };
    const stream =
      reach === 'address' ? await reachAddress(id, pod, port, signal) : await this.#forward(id, pod, signal);
    this.#open.add(stream);
    stream.once('close', () => this.#open.delete(stream));
    return { stream, headers };
  }

  /**
   * Resolves once the guest of a pod that has just started answers.
   * @throws PortholeError `sandbox_not_running` with the last failure, on a timeout
   */
  async ready(id: string, pod: RunningPod, signal: AbortSignal): Promise<void> {
    const guest = await this.client(id, pod);
    let last: unknown;
    const delay = (error: unknown): number | undefined => {
      if (error instanceof PortholeError && !STARTING.has(error.code)) return undefined;
      last = error;
      return PAUSE_MS;
    };
    try {
      await retry(() => guest.health(signal), { delay, signal });
    } catch (error) {
      throw isTimeout(signal) ? sandboxNotRunning(id, this.#silent(last ?? error), error) : error;
    }
  }

  close(): void {
    for (const stream of this.#open) stream.destroy();
  }

  #silent(error: unknown): string {
    const how =
      this.#options.reach === 'forward' ? ' through port-forwards, which gVisor does not support' : '';
    return `its guest does not answer${how} (${error instanceof Error ? error.message : String(error)})`;
  }

  #token(id: string, { uid, guestKeys = '' }: RunningPod, operation: string): string {
    const [method = '', path = ''] = operation.split(' ');
    const claims = { audience: uid, operation: operationOf(method, path) };
    const token = this.#options.keys.sign(guestKeys, claims);
    if (token !== undefined) return `Bearer ${token}`;
    throw sandboxNotRunning(
      id,
      'its guest knows none of the signing keys; put the old one back, or stop and resume the sandbox',
    );
  }

  async #forward(id: string, pod: RunningPod, signal: AbortSignal | undefined): Promise<Duplex> {
    const { streams, pods } = this.#options;
    const path = `${pods.path}/${pod.name}/portforward?ports=${GUEST_PORT}`;
    const request = { path, what: `portforward to pods ${pod.name}` };
    const socket = await streams.socket(request, FORWARD_SUBPROTOCOL, signal);
    return new PortStream(socket, id, GUEST_PORT);
  }
}

async function reachAddress(
  id: string,
  pod: RunningPod,
  port: number,
  signal: AbortSignal | undefined,
): Promise<Duplex> {
  if (pod.address === undefined) throw transportError(id, 'its pod has no address yet');
  const socket = connect({
    host: pod.address,
    port,
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: QUIET_MS,
  });
  const late = AbortSignal.timeout(CONNECT_MS);
  try {
    await once(socket, 'connect', { signal: anySignal(late, signal) });
    return socket;
  } catch (error) {
    socket.destroy();
    signal?.throwIfAborted();
    if (!late.aborted) throw error;
    throw transportError(
      id,
      `its pod does not accept on port ${GUEST_PORT}; a NetworkPolicy may keep it from the functions`,
      error,
    );
  }
}
