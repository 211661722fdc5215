/**
 * The `kubernetes` SandboxProvider: a sandbox is a pod and the volume claim of its `/workspace`.
 * Both have the same name; a stopped sandbox is the claim without its pod. The claim is created
 * first and deleted first: without a claim, or with a terminating one, no sandbox exists.
 */
import { DEFAULT_SIZE } from '#adapters/sandboxes/default-size.ts';
import {
  sandboxNotFound,
  sandboxNotRunning,
  checkSandboxId,
  isSandboxId,
  checkAtMost,
} from '#adapters/sandboxes/sandbox-errors.ts';
import { SANDBOX_LABELS, sandboxObjectName, selector } from '#constructs/names.ts';
import type { SandboxObservation, SandboxSize, SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';
import {
  type Collection,
  collection,
  PODS,
  VOLUME_CLAIMS,
  type KubernetesObject,
} from '../client/kubernetes-object.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { find, sandboxIdOf } from './cluster-objects.ts';
import { ClusterProvider, type ClusterProviderOptions } from './cluster-provider.ts';
import { NODE_WITHIN_MS } from './await-pod.ts';
import { PodLife, type SandboxPodSettings, sizeOf } from './pod-life.ts';
import { type Pod, podState, type RunningPod } from './pod-state.ts';

export interface KubernetesProviderOptions extends ClusterProviderOptions {
  /** Image of sandboxes without a requested image. */
  readonly image: string;
  /** Limits, user, storage class. */
  readonly pod?: Omit<SandboxPodSettings, 'guestKeys'> | undefined;
}

export function createKubernetesProvider(options: KubernetesProviderOptions): ClusterProvider {
  return new PodProvider(options);
}

class PodProvider extends ClusterProvider {
  readonly name = 'kubernetes';
  readonly defaultSize: SandboxSize;
  readonly #most: SandboxSize;
  readonly #client: KubernetesClient;
  readonly #pods: Collection;
  readonly #volumes: Collection;
  readonly #life: PodLife;

  constructor(options: KubernetesProviderOptions) {
    super(options);
    const { client, namespace, image, pod = {}, guest } = options;
    const { settleWithinMs = 180_000, nodeWithinMs = NODE_WITHIN_MS } = options;
    this.defaultSize = sizeOf(pod);
    this.#most = {
      cpu: Math.max(DEFAULT_SIZE.cpu, this.defaultSize.cpu),
      memoryMb: Math.max(DEFAULT_SIZE.memoryMb, this.defaultSize.memoryMb),
      diskMb: Math.max(DEFAULT_SIZE.diskMb, this.defaultSize.diskMb),
    };
    this.#client = client;
    this.#pods = collection(PODS, namespace);
    this.#volumes = collection(VOLUME_CLAIMS, namespace);
    const settings = { ...pod, guestKeys: guest.keys.publicKeys };
    const { streams } = this;
    this.#life = new PodLife({ client, streams, namespace, image, settings, settleWithinMs, nodeWithinMs });
  }

  /** Only a node can find out, when it pulls the image. */
  runsImage(): Promise<boolean> {
    return Promise.resolve(true);
  }

  async create(spec: SandboxSpec, signal?: AbortSignal): Promise<void> {
    const { id } = spec;
    checkSandboxId(id);
    // The cluster's admission policy rejects larger pods and volumes.
    checkAtMost(spec.resources, this.#most);
    await this.asPortErrors(id, async () => {
      await this.#start(id, await this.#life.keepVolume(spec, signal), signal);
    });
  }

  inspect(id: string, signal?: AbortSignal): Promise<SandboxObservation> {
    return this.asPortErrors(id, async () => {
      const podName = sandboxObjectName(id);
      const now = await this.#look(id, signal);
      switch (now.state) {
        case 'running':
          return { state: 'running', podName };
        case 'creating':
          return { state: 'creating', podName, reason: now.reason };
        case 'ended':
        case 'ending':
          return { state: 'stopped', podName, reason: now.reason };
        case 'absent':
          break;
      }
      const volume = isSandboxId(id) ? await find(this.#client, this.#volumes, podName, signal) : undefined;
      if (volume === undefined || sandboxIdOf(volume.metadata) !== id) return { state: 'absent', podName };
      const reason = volume.metadata.deletionTimestamp === undefined ? undefined : 'its removal has begun';
      return { state: 'stopped', podName, ...(reason !== undefined && { reason }) };
    });
  }

  stop(id: string, signal?: AbortSignal): Promise<void> {
    return this.asPortErrors(id, async () => {
      if (!isSandboxId(id)) throw sandboxNotFound(id);
      await this.#life.volume(id, signal);
      await this.#life.endPod(id, signal);
    });
  }

  resume(id: string, signal?: AbortSignal): Promise<void> {
    return this.asPortErrors(id, async () => {
      if (!isSandboxId(id)) throw sandboxNotFound(id);
      await this.#start(id, await this.#life.volume(id, signal), signal);
    });
  }

  async destroy(id: string, signal?: AbortSignal): Promise<void> {
    if (!isSandboxId(id)) return;
    await this.asPortErrors(id, () => this.#life.remove(id, signal));
  }

  async *list(signal?: AbortSignal): AsyncIterable<string> {
    const query = { labelSelector: selector(SANDBOX_LABELS), metadataOnly: true };
    const seen = new Set<string>();
    // Pods second: a crash during a removal can leave a pod without its volume.
    for (const from of [this.#volumes, this.#pods]) {
      for await (const { metadata } of this.#client.list(from, query, signal)) {
        const id = sandboxIdOf(metadata);
        if (id === undefined || seen.has(id)) continue;
        seen.add(id);
        yield id;
      }
    }
  }

  async #start(id: string, volume: KubernetesObject, signal: AbortSignal | undefined): Promise<void> {
    const pod = await this.#life.run(id, volume, signal);
    await this.guests.ready(id, pod, this.#life.limit(signal));
  }

  async #look(id: string, signal: AbortSignal | undefined) {
    const pod = isSandboxId(id)
      ? await find<Pod>(this.#client, this.#pods, sandboxObjectName(id), signal)
      : undefined;
    return podState(pod !== undefined && sandboxIdOf(pod.metadata) === id ? pod : undefined);
  }

  protected async running(id: string, signal: AbortSignal | undefined): Promise<RunningPod> {
    const now = await this.#look(id, signal);
    if (now.state === 'running') return now.pod;
    if (!isSandboxId(id)) throw sandboxNotFound(id);
    if (now.state !== 'absent') throw sandboxNotRunning(id, now.reason);
    await this.#life.volume(id, signal);
    throw sandboxNotRunning(id, 'it is stopped; resume it first');
  }
}
