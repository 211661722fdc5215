/**
 * The `kubernetes` SandboxProvider: a sandbox is a pod and the volume claim of its `/workspace`.
 * Both have the same name; a stopped sandbox is the claim without its pod. The claim is created
 * first and deleted first: without a claim, or with a terminating one, no sandbox exists.
 */
import { DEFAULT_SIZE } from '#adapters/sandboxes/default-size.ts';
import { checkAtMost, checkSandboxId, sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import { sandboxObjectName } from '#constructs/names.ts';
import type { SandboxObservation, SandboxSize, SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';
import {
  type Collection,
  collection,
  PODS,
  VOLUME_CLAIMS,
  type KubernetesObject,
} from '../client/kubernetes-object.ts';
import { findOurs } from './cluster-objects.ts';
import { ClusterProvider, type ClusterProviderOptions } from './cluster-provider.ts';
import { NODE_WITHIN_MS } from './await-pod.ts';
import { PodLife, type SandboxPodSettings, sizeOf } from './pod-life.ts';
import { type Pod, podState, type RunningPod } from './pod-state.ts';

interface KubernetesProviderOptions extends ClusterProviderOptions {
  /** Image of sandboxes without a requested image. */
  readonly image: string;
  readonly pod?: Omit<SandboxPodSettings, 'guestKeys'> | undefined;
}

export function createKubernetesProvider(options: KubernetesProviderOptions): ClusterProvider {
  return new PodProvider(options);
}

class PodProvider extends ClusterProvider {
  readonly name = 'kubernetes';
  readonly defaultSize: SandboxSize;
  protected readonly objects: readonly Collection[];
  readonly #most: SandboxSize;
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
    this.#pods = collection(PODS, namespace);
    this.#volumes = collection(VOLUME_CLAIMS, namespace);
    // Pods second: a crash during a removal can leave a pod without its volume.
    this.objects = [this.#volumes, this.#pods];
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
      const volume = await findOurs(this.client, this.#volumes, id, signal);
      if (volume === undefined) return { state: 'absent', podName };
      const reason = volume.metadata.deletionTimestamp === undefined ? undefined : 'its removal has begun';
      return { state: 'stopped', podName, ...(reason !== undefined && { reason }) };
    });
  }

  protected async end(id: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#life.volume(id, signal);
    await this.#life.endPod(id, signal);
  }

  protected async start(id: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#start(id, await this.#life.volume(id, signal), signal);
  }

  protected remove(id: string, signal: AbortSignal | undefined): Promise<void> {
    return this.#life.remove(id, signal);
  }

  async #start(id: string, volume: KubernetesObject, signal: AbortSignal | undefined): Promise<void> {
    const pod = await this.#life.run(id, volume, signal);
    await this.guests.ready(id, pod, this.#life.limit(signal));
  }

  async #look(id: string, signal: AbortSignal | undefined) {
    return podState(await findOurs<Pod>(this.client, this.#pods, id, signal));
  }

  protected async running(id: string, signal: AbortSignal | undefined): Promise<RunningPod> {
    const now = await this.#look(id, signal);
    if (now.state === 'running') return now.pod;
    if (now.state !== 'absent') throw sandboxNotRunning(id, now.reason);
    await this.#life.volume(id, signal);
    throw sandboxNotRunning(id, 'it is stopped; resume it first');
  }
}
