import { type StoredSpec, storedSpecText, readStoredSpec } from '#adapters/sandboxes/stored-spec.ts';
import { sandboxNotFound, sandboxNotRunning } from '#adapters/sandboxes/sandbox-errors.ts';
import { DOMAIN, sandboxObjectName } from '#constructs/names.ts';
import type { SandboxPodProps } from '#constructs/sandbox-pod.ts';
import { SANDBOX_SIZE } from '#constructs/sandbox-size.ts';
import type { SandboxSize, SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';
import {
  type Collection,
  collection,
  PODS,
  VOLUME_CLAIMS,
  type KubernetesObject,
} from '../client/kubernetes-object.ts';
import {
  find,
  findOurs,
  type Watching,
  makeObject,
  awaitGone,
  limited,
  annotated,
  sandboxIdOf,
} from './cluster-objects.ts';
import { notOurs } from './cluster-errors.ts';
import { awaitPod, withNode } from './await-pod.ts';
import { type Pod, podState, type RunningPod } from './pod-state.ts';

/** Installation-specific settings of sandbox pods. */
export type SandboxPodSettings = Omit<SandboxPodProps, 'namespace' | 'sandboxId' | 'image'>;

/** Annotations of a sandbox's volume: image and spec of its next pod. */
const IMAGE = `${DOMAIN}/image`;
const SPEC = `${DOMAIN}/spec`;

export function sizeOf({
  cpuLimitMillis = SANDBOX_SIZE.cpuLimitMillis,
  memoryMebibytes = SANDBOX_SIZE.memoryMebibytes,
  workspaceMebibytes = SANDBOX_SIZE.workspaceMebibytes,
}: Omit<SandboxPodSettings, 'guestKeys'>): SandboxSize {
  return { cpu: cpuLimitMillis / 1_000, memoryMb: memoryMebibytes, diskMb: workspaceMebibytes };
}

interface PodLifeOptions extends Watching {
  readonly namespace: string;
  /** Image of sandboxes without a requested image. */
  readonly image: string;
  readonly settings: SandboxPodSettings;
  readonly settleWithinMs: number;
  readonly nodeWithinMs: number;
}

/**
 * Creates and removes the pod and the volume of a sandbox. Every step is idempotent: any process
 * can repeat it after a crash.
 */
export class PodLife {
  readonly #options: PodLifeOptions;
  readonly #pods: Collection;
  readonly #volumes: Collection;

  constructor(options: PodLifeOptions) {
    this.#options = options;
    this.#pods = collection(PODS, options.namespace);
    this.#volumes = collection(VOLUME_CLAIMS, options.namespace);
  }

  /** The sandbox's volume, unless it is terminating. @throws PortholeError `sandbox_not_found` */
  async volume(id: string, signal: AbortSignal | undefined): Promise<KubernetesObject> {
    const volume = await findOurs(this.#options.client, this.#volumes, id, signal);
    if (volume === undefined || volume.metadata.deletionTimestamp !== undefined) throw sandboxNotFound(id);
    return volume;
  }

  /**
   * Creates the sandbox's volume if it does not exist. Waits for the removal of a terminating one
   * first.
   */
  async keepVolume(
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
      const made = await makeObject(this.#options.client, this.#volumes, manifest, signal);
      const volume = made ?? (await find(this.#options.client, this.#volumes, name, signal));
      if (volume !== undefined && sandboxIdOf(volume.metadata) !== id) {
        throw notOurs(id, this.#volumes, volume);
      }
      if (volume !== undefined && volume.metadata.deletionTimestamp === undefined) return volume;
      await this.remove(id, signal);
    }
  }

  /**
   * Starts the pod on the sandbox's volume. @throws PortholeError `sandbox_not_running` with the
   * reason, `capacity_exceeded`
   */
  async run(id: string, volume: KubernetesObject, signal: AbortSignal | undefined): Promise<RunningPod> {
    const name = sandboxObjectName(id);
    for (;;) {
      const found = await find<Pod>(this.#options.client, this.#pods, name, signal);
      const now = podState(found);
      if (now.state === 'running') return now.pod;
      if (now.state === 'ended' || now.state === 'ending') await this.endPod(id, signal);
      else {
        if (now.state === 'absent') await this.#makePod(id, volume.metadata.annotations, signal);
        const stopped = () => sandboxNotRunning(id, 'it was stopped while it came up');
        return withNode(
          id,
          this.limit(signal),
          (until) => find<Pod>(this.#options.client, this.#pods, name, until),
          (until) => awaitPod(this.#options, this.#pods, name, id, until, stopped),
          this.#options.nodeWithinMs,
        );
      }
    }
  }

  /** Deletes the pod; resolves once it is gone. */
  async endPod(id: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#removeObject(this.#pods, id, signal);
  }

  /**
   * Removes pod and volume; resolves once both are gone. The volume is marked for deletion first,
   * so that no pod starts on it any more.
   */
  async remove(id: string, signal: AbortSignal | undefined): Promise<void> {
    const { client } = this.#options;
    const volume = await findOurs(client, this.#volumes, id, signal);
    if (volume !== undefined) {
      const { name, uid } = volume.metadata;
      await client.delete(this.#volumes, name, { uid }, signal);
    }
    await this.endPod(id, signal);
    await this.#removeObject(this.#volumes, id, signal);
  }

  /** The caller's signal combined with the timeout for a sandbox to start or stop. */
  limit(signal: AbortSignal | undefined): AbortSignal {
    return limited(signal, this.#options.settleWithinMs);
  }

  async #makePod(
    id: string,
    { [IMAGE]: image, [SPEC]: spec }: Readonly<Record<string, string>> = {},
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { pod } = await this.#manifests(id, image, readStoredSpec(spec));
    await makeObject(this.#options.client, this.#pods, annotated(pod, id), signal);
  }

  async #manifests(id: string, image: string | undefined, { resources = {}, network }: StoredSpec) {
    // Loaded lazily, only to create sandboxes.
    const { sandboxPodManifests } = await import('#constructs/sandbox-pod.ts');
    const { cpu, memoryMb, diskMb } = resources;
    return sandboxPodManifests({
      ...this.#options.settings,
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
    const found = await findOurs(this.#options.client, from, id, signal);
    if (found === undefined) return;
    const { name, uid } = found.metadata;
    await this.#options.client.delete(from, name, { uid }, signal);
    await awaitGone(this.#options, id, from, { name, uid }, this.limit(signal));
  }
}
