import { isSandboxId, sandboxNotFound } from '#adapters/sandboxes/sandbox-errors.ts';
import { SANDBOX_LABELS, selector } from '#constructs/names.ts';
import type { PortholeError } from '#core/errors.ts';
import type {
  Enforcement,
  GuestConnection,
  SandboxObservation,
  SandboxProvider,
  SandboxSize,
  SandboxSpec,
} from '#core/sandboxes/sandbox-provider.ts';
import type { ClusterAccess } from '../client/cluster-access.ts';
import { type Collection, collection, type ObjectMeta, PODS } from '../client/kubernetes-object.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { type GuestAccess, PodGuests } from './pod-guests.ts';
import type { Pod, RunningPod } from './pod-state.ts';
import { portError, CLUSTER_ENFORCEMENT } from './cluster-errors.ts';
import { awaitPod, NODE_WITHIN_MS, withNode } from './await-pod.ts';
import { awaitGone, limited, sandboxIdOf, type Watching } from './cluster-objects.ts';
import { openClusterStreams } from './cluster-streams.ts';

export interface ClusterProviderOptions {
  /** Closed by the caller, after the provider. */
  readonly client: KubernetesClient;
  /** For streams, which use separate connections. */
  readonly access: ClusterAccess;
  readonly namespace: string;
  /** Access to the guests in the pods. All operations inside a sandbox go through its guest. */
  readonly guest: GuestAccess;
  /** Longest time for a sandbox to start or to stop, in milliseconds. @default 180,000 */
  readonly settleWithinMs?: number | undefined;
  /** Longest time for the scheduler to find a node, in milliseconds. @default 20,000 */
  readonly nodeWithinMs?: number | undefined;
  /** Longest wait for the API server to open a stream, in milliseconds. @default 30,000 */
  readonly openWithinMs?: number | undefined;
}

/**
 * Base of the cluster providers: the sandbox lifecycle differs, operations inside a sandbox do not.
 */
export abstract class ClusterProvider implements SandboxProvider {
  abstract readonly name: 'kubernetes' | 'agent-sandbox';
  abstract readonly defaultSize: SandboxSize;
  protected readonly client: KubernetesClient;
  protected readonly guests: PodGuests;
  protected readonly pods: Collection;
  protected readonly watching: Watching;
  readonly #settleWithinMs: number;
  readonly #nodeWithinMs: number;

  constructor(options: ClusterProviderOptions) {
    const { client, access, namespace, guest, openWithinMs } = options;
    const { settleWithinMs = 180_000, nodeWithinMs = NODE_WITHIN_MS } = options;
    const streams = openClusterStreams(access, openWithinMs);
    this.client = client;
    this.pods = collection(PODS, namespace);
    this.watching = { client, streams };
    this.guests = new PodGuests({ ...guest, streams, pods: this.pods });
    this.#settleWithinMs = settleWithinMs;
    this.#nodeWithinMs = nodeWithinMs;
  }

  abstract runsImage(reference: string): Promise<boolean>;
  abstract create(spec: SandboxSpec, signal?: AbortSignal): Promise<void>;
  abstract inspect(id: string, signal?: AbortSignal): Promise<SandboxObservation>;

  /** Ends the sandbox's pod. @throws PortholeError `sandbox_not_found` */
  protected abstract end(id: string, signal: AbortSignal | undefined): Promise<void>;
  /** Starts a stopped sandbox. @throws PortholeError `sandbox_not_found` */
  protected abstract start(id: string, signal: AbortSignal | undefined): Promise<void>;
  protected abstract remove(id: string, signal: AbortSignal | undefined): Promise<void>;
  /** The objects that sandboxes consist of; those that are removed last come last. */
  protected abstract readonly objects: readonly Collection[];

  /** The sandbox's pod. Rejects as specified by SandboxProvider where it cannot run commands. */
  protected abstract running(id: string, signal: AbortSignal | undefined): Promise<RunningPod>;

  /** The caller's signal combined with the timeout for a sandbox to start or stop. */
  protected limit(signal: AbortSignal | undefined): AbortSignal {
    return limited(signal, this.#settleWithinMs);
  }

  /** Runs work that waits for a pod. @throws PortholeError `capacity_exceeded` */
  protected withNode<T>(
    id: string,
    signal: AbortSignal | undefined,
    look: (signal: AbortSignal) => Promise<Pod | undefined>,
    work: (until: AbortSignal) => Promise<T>,
    noNode?: () => Promise<void>,
  ): Promise<T> {
    return withNode(id, this.limit(signal), look, work, this.#nodeWithinMs, noNode);
  }

  protected awaitPod(
    id: string,
    name: string,
    until: AbortSignal,
    gone: () => PortholeError | undefined,
  ): Promise<RunningPod> {
    return awaitPod(this.watching, this.pods, name, id, until, gone);
  }

  /** Waits until an object is gone; a new object with the same name does not count. */
  protected gone(
    id: string,
    from: Collection,
    { name, uid }: ObjectMeta,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    return awaitGone(this.watching, id, from, { name, uid }, this.limit(signal));
  }

  enforcement(): Promise<Enforcement> {
    return Promise.resolve(CLUSTER_ENFORCEMENT);
  }

  connect(id: string, operation: string, signal?: AbortSignal): Promise<GuestConnection> {
    return this.asPortErrors(id, async () =>
      this.guests.connect(id, await this.running(id, signal), operation, signal),
    );
  }

  stop(id: string, signal?: AbortSignal): Promise<void> {
    return this.asPortErrors(id, () => this.end(known(id), signal));
  }

  resume(id: string, signal?: AbortSignal): Promise<void> {
    return this.asPortErrors(id, () => this.start(known(id), signal));
  }

  async destroy(id: string, signal?: AbortSignal): Promise<void> {
    if (isSandboxId(id)) await this.asPortErrors(id, () => this.remove(id, signal));
  }

  async *list(signal?: AbortSignal): AsyncIterable<string> {
    const query = { labelSelector: selector(SANDBOX_LABELS), metadataOnly: true };
    const seen = new Set<string>();
    for (const from of this.objects) {
      for await (const { metadata } of this.client.list(from, query, signal)) {
        const id = sandboxIdOf(metadata);
        if (id === undefined || seen.has(id)) continue;
        seen.add(id);
        yield id;
      }
    }
  }

  close(): Promise<void> {
    this.guests.close();
    this.watching.streams.close();
    return Promise.resolve();
  }

  protected async asPortErrors<T>(id: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw portError(id, error);
    }
  }
}

/** @throws PortholeError `sandbox_not_found` */
function known(id: string): string {
  if (isSandboxId(id)) return id;
  throw sandboxNotFound(id);
}
