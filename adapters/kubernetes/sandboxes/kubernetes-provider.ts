/**
 * The `kubernetes` SandboxProvider: a sandbox is a pod and the volume claim of its `/workspace`.
 * Both have the same name; a stopped sandbox is the claim without its pod. The claim is created
 * first and deleted first: without a claim, or with a terminating one, no sandbox exists. Every
 * step is idempotent: any process can repeat it after a crash.
 */
import { DEFAULT_SIZE } from '#adapters/sandboxes/default-size.ts';
import {
  checkAtMost,
  checkSandboxId,
  sandboxNotFound,
  sandboxNotRunning,
} from '#adapters/sandboxes/sandbox-errors.ts';
import { readStoredSpec, type StoredSpec, storedSpecText } from '#adapters/sandboxes/stored-spec.ts';
import { DOMAIN, sandboxObjectName } from '#constructs/names.ts';
import type { SandboxPodProps } from '#constructs/sandbox-pod.ts';
import type { SandboxObservation, SandboxSize, SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';
import {
  type Collection,
  collection,
  type KubernetesObject,
  VOLUME_CLAIMS,
} from '../client/kubernetes-object.ts';
import { notOurs } from './cluster-errors.ts';
import { annotated, find, findOurs, makeObject, sandboxIdOf } from './cluster-objects.ts';
import { ClusterProvider, type ClusterProviderOptions } from './cluster-provider.ts';
import { type Pod, podState, type RunningPod } from './pod-state.ts';

/** Installation-specific settings of sandbox pods. */
type SandboxPodSettings = Omit<SandboxPodProps, 'namespace' | 'sandboxId' | 'image' | 'guestKeys'>;

interface KubernetesProviderOptions extends ClusterProviderOptions {
  /** Image of sandboxes without a requested image. */
  readonly image: string;
  readonly pod?: SandboxPodSettings | undefined;
}

/** Annotations of a sandbox's volume: image and spec of its next pod. */
const IMAGE = `${DOMAIN}/image`;
const SPEC = `${DOMAIN}/spec`;

export class KubernetesProvider extends ClusterProvider {
  readonly name = 'kubernetes';
  readonly defaultSize: SandboxSize;
  protected readonly objects: readonly Collection[];
  readonly #options: KubernetesProviderOptions;
  readonly #most: SandboxSize;
  readonly #volumes: Collection;

  constructor(options: KubernetesProviderOptions) {
    super(options);
    this.#options = options;
    const { cpuLimitMillis, memoryMebibytes, workspaceMebibytes } = options.pod ?? {};
    this.defaultSize = {
      cpu: cpuLimitMillis === undefined ? DEFAULT_SIZE.cpu : cpuLimitMillis / 1_000,
      memoryMb: memoryMebibytes ?? DEFAULT_SIZE.memoryMb,
      diskMb: workspaceMebibytes ?? DEFAULT_SIZE.diskMb,
    };
    this.#most = {
      cpu: Math.max(DEFAULT_SIZE.cpu, this.defaultSize.cpu),
      memoryMb: Math.max(DEFAULT_SIZE.memoryMb, this.defaultSize.memoryMb),
      diskMb: Math.max(DEFAULT_SIZE.diskMb, this.defaultSize.diskMb),
    };
    this.#volumes = collection(VOLUME_CLAIMS, options.namespace);
    // Pods second: a crash during a removal can leave a pod without its volume.
    this.objects = [this.#volumes, this.pods];
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
      await this.#start(id, await this.#keepVolume(spec, signal), signal);
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
    await this.#volume(id, signal);
    await this.#removeObject(this.pods, id, signal);
  }

  protected async start(id: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#start(id, await this.#volume(id, signal), signal);
  }

  /** The volume is marked for deletion first, so that no pod starts on it any more. */
  protected async remove(id: string, signal: AbortSignal | undefined): Promise<void> {
    const volume = await findOurs(this.client, this.#volumes, id, signal);
    if (volume !== undefined) {
      const { name, uid } = volume.metadata;
      await this.client.delete(this.#volumes, name, { uid }, signal);
    }
    await this.#removeObject(this.pods, id, signal);
    await this.#removeObject(this.#volumes, id, signal);
  }

  protected async running(id: string, signal: AbortSignal | undefined): Promise<RunningPod> {
    const now = await this.#look(id, signal);
    if (now.state === 'running') return now.pod;
    if (now.state !== 'absent') throw sandboxNotRunning(id, now.reason);
    await this.#volume(id, signal);
    throw sandboxNotRunning(id, 'it is stopped; resume it first');
  }

  async #look(id: string, signal: AbortSignal | undefined) {
    return podState(await findOurs<Pod>(this.client, this.pods, id, signal));
  }

  /** The sandbox's volume, unless it is terminating. @throws PortholeError `sandbox_not_found` */
  async #volume(id: string, signal: AbortSignal | undefined): Promise<KubernetesObject> {
    const volume = await findOurs(this.client, this.#volumes, id, signal);
    if (volume === undefined || volume.metadata.deletionTimestamp !== undefined) throw sandboxNotFound(id);
    return volume;
  }

  /**
   * Creates the sandbox's volume if it does not exist. Waits for the removal of a terminating one
   * first.
   */
  async #keepVolume(
    { id, image, ...spec }: SandboxSpec,
    signal: AbortSignal | undefined,
  ): Promise<KubernetesObject> {
    const { volumeClaim } = await this.#manifests(id, image, spec);
    const kept = storedSpecText(spec);
    const manifest = annotated(volumeClaim, id, {
      [IMAGE]: image ?? this.#options.image,
      ...(kept !== undefined && { [SPEC]: kept }),
    });
    const name = sandboxObjectName(id);
    for (;;) {
      const made = await makeObject(this.client, this.#volumes, manifest, signal);
      const volume = made ?? (await find(this.client, this.#volumes, name, signal));
      if (volume !== undefined && sandboxIdOf(volume.metadata) !== id) {
        throw notOurs(id, this.#volumes, volume);
      }
      if (volume !== undefined && volume.metadata.deletionTimestamp === undefined) return volume;
      await this.remove(id, signal);
    }
  }

  async #start(id: string, volume: KubernetesObject, signal: AbortSignal | undefined): Promise<void> {
    await this.guests.ready(id, await this.#run(id, volume, signal), this.limit(signal));
  }

  /**
   * Starts the pod on the sandbox's volume. @throws PortholeError `sandbox_not_running` with the
   * reason, `capacity_exceeded`
   */
  async #run(id: string, volume: KubernetesObject, signal: AbortSignal | undefined): Promise<RunningPod> {
    const name = sandboxObjectName(id);
    for (;;) {
      const now = podState(await find<Pod>(this.client, this.pods, name, signal));
      if (now.state === 'running') return now.pod;
      if (now.state === 'ended' || now.state === 'ending') await this.#removeObject(this.pods, id, signal);
      else {
        if (now.state === 'absent') await this.#makePod(id, volume.metadata.annotations, signal);
        const stopped = () => sandboxNotRunning(id, 'it was stopped while it came up');
        return this.withNode(
          id,
          signal,
          (until) => find<Pod>(this.client, this.pods, name, until),
          (until) => this.awaitPod(id, name, until, stopped),
        );
      }
    }
  }

  async #makePod(
    id: string,
    { [IMAGE]: image, [SPEC]: spec }: Readonly<Record<string, string>> = {},
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { pod } = await this.#manifests(id, image, readStoredSpec(spec));
    await makeObject(this.client, this.pods, annotated(pod, id), signal);
  }

  async #manifests(id: string, image: string | undefined, { resources = {}, network }: StoredSpec) {
    // Loaded lazily, only to create sandboxes.
    const { sandboxPodManifests } = await import('#constructs/sandbox-pod.ts');
    const { cpu, memoryMb, diskMb } = resources;
    return sandboxPodManifests({
      ...this.#options.pod,
      guestKeys: this.#options.guest.keys.publicKeys,
      ...(cpu !== undefined && { cpuLimitMillis: Math.round(cpu * 1_000) }),
      ...(memoryMb !== undefined && { memoryMebibytes: memoryMb }),
      ...(diskMb !== undefined && { workspaceMebibytes: diskMb }),
      ...(network === true && { network }),
      namespace: this.#options.namespace,
      sandboxId: id,
      image: image ?? this.#options.image,
    });
  }

  /**
   * Deletes the sandbox's object by uid and waits until it is gone. A later object with the same
   * name is kept.
   */
  async #removeObject(from: Collection, id: string, signal: AbortSignal | undefined): Promise<void> {
    const found = await findOurs(this.client, from, id, signal);
    if (found === undefined) return;
    await this.client.delete(from, found.metadata.name, { uid: found.metadata.uid }, signal);
    await this.gone(id, from, found.metadata, signal);
  }
}
