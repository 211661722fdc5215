import { LRUCache } from 'lru-cache';
import type { SandboxPodClaims } from '#protocol/guest/key-set.ts';
import { sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import { Guest, type Guests } from '#core/processes/guest.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import type { Collection } from '../client/kubernetes-object.ts';
import { find } from './cluster-objects.ts';
import type { PodGuests } from './pod-guests.ts';
import { isAtAddress, type Pod, podState, type RunningPod } from './pod-state.ts';

/**
 * How long the identity of a pod is used without asking the API server, in milliseconds. An address
 * that another pod gets meanwhile does not help that pod: it does not have the token.
 */
const KNOWN_MS = 5_000;

/** Maximum cached pods, most recently used. */
const MAX_KEPT = 10_000;

export interface PodIdentitiesOptions {
  readonly client: KubernetesClient;
  readonly pods: Collection;
  readonly guests: PodGuests;
  /** The claims of a token with a valid signature. */
  verify(token: string): SandboxPodClaims | undefined;
}

/**
 * Which sandbox a connection comes from. The functions sign the pod of a sandbox, and the API
 * server says whether this pod runs and has the address of the connection: a token that another
 * sandbox obtains is of no use there, and none outlives its pod.
 */
export class PodIdentities implements Guests {
  readonly #options: PodIdentitiesOptions;
  readonly #known = new LRUCache<string, Promise<RunningPod | undefined>>({ max: MAX_KEPT, ttl: KNOWN_MS });
  readonly #running = new LRUCache<string, RunningPod>({ max: MAX_KEPT });

  constructor(options: PodIdentitiesOptions) {
    this.#options = options;
  }

  /** The sandbox; undefined unless the connection comes from the pod of the token. */
  async identify(token: string, address: string): Promise<string | undefined> {
    const claims = this.#options.verify(token);
    if (claims === undefined) return undefined;
    const pod = await this.#podOf(claims, address);
    if (pod === undefined) return undefined;
    this.#running.set(claims.sandboxId, pod);
    return claims.sandboxId;
  }

  of(sandboxId: string): Guest {
    const { guests } = this.#options;
    return new Guest(
      {
        callGuest: async (id, call, signal) => {
          const pod = this.#running.get(id);
          if (pod === undefined) throw sandboxNotRunning(id, 'it has not connected');
          return (await guests.client(id, pod)).call(call, signal);
        },
      },
      sandboxId,
    );
  }

  #podOf({ pod: name, uid }: SandboxPodClaims, address: string): Promise<RunningPod | undefined> {
    const key = `${uid} ${address}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const pod = this.#look(name, uid, address);
    this.#known.set(key, pod);
    pod.catch(() => this.#known.delete(key));
    return pod;
  }

  async #look(name: string, uid: string, address: string): Promise<RunningPod | undefined> {
    const found = await find<Pod>(this.#options.client, this.#options.pods, name);
    if (found?.metadata.uid !== uid || !isAtAddress(found, address)) return undefined;
    const now = podState(found);
    return now.state === 'running' ? now.pod : undefined;
  }
}
