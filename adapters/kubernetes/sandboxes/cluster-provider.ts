import { setTimeout as pause } from 'node:timers/promises';
import {
  isSandboxId,
  sandboxNotFound,
  sandboxNotRunning,
  transportError,
} from '#adapters/sandboxes/sandbox-errors.ts';
import { SANDBOX_LABELS, SANDBOX_QUOTA, selector } from '#constructs/names.ts';
import { PortholeError } from '#base/errors.ts';
import { amountOf } from '#base/quantity.ts';
import type {
  Enforcement,
  GuestConnection,
  QuotaCount,
  SandboxObservation,
  SandboxProvider,
  SandboxSize,
  SandboxSpec,
} from '#core/sandboxes/sandbox-provider.ts';
import { anySignal } from '#base/concurrency.ts';
import { type ClusterAccess, isInCluster } from '../client/cluster-access.ts';
import {
  type Collection,
  collection,
  type KubernetesObject,
  type ObjectMeta,
  PODS,
  RESOURCE_QUOTAS,
} from '../client/kubernetes-object.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { isReason } from '../client/kubernetes-error.ts';
import { refusesGatewayPort } from './network-policies.ts';
import { type GuestAccess, PodGuests } from './pod-guests.ts';
import { type Pod, podState, type RunningPod } from './pod-state.ts';
import { portError, CLUSTER_ENFORCEMENT } from './cluster-errors.ts';
import { awaitObject, awaitSettled, find, isTimeout, sandboxIdOf, type Watching } from './cluster-objects.ts';
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

interface ResourceQuota extends KubernetesObject {
  readonly status?: {
    readonly hard?: Readonly<Record<string, string>>;
    readonly used?: Readonly<Record<string, string>>;
  };
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
  readonly #quotas: Collection;
  readonly #settleWithinMs: number;
  readonly #nodeWithinMs: number;

  constructor(options: ClusterProviderOptions) {
    const { client, access, namespace, guest, openWithinMs } = options;
    const { settleWithinMs = 180_000, nodeWithinMs = NODE_WITHIN_MS } = options;
    const streams = openClusterStreams(access, openWithinMs);
    this.client = client;
    this.#quotas = collection(RESOURCE_QUOTAS, namespace);
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
  /** The kinds of objects of a sandbox, in the order of their removal. */
  protected abstract readonly objects: readonly Collection[];

  /** The sandbox's pod. Rejects as specified by SandboxProvider where it cannot run commands. */
  protected abstract running(id: string, signal: AbortSignal | undefined): Promise<RunningPod>;

  /** The caller's signal combined with the timeout for a sandbox to start or stop. */
  protected limit(signal: AbortSignal | undefined): AbortSignal {
    return anySignal(signal, AbortSignal.timeout(this.#settleWithinMs));
  }

  /** Runs work that waits for a pod. @throws PortholeError as `withNode` does */
  protected withNode<T>(
    id: string,
    signal: AbortSignal | undefined,
    look: (signal: AbortSignal) => Promise<Pod | undefined>,
    work: (until: AbortSignal) => Promise<T>,
    noNode?: () => Promise<void>,
  ): Promise<T> {
    return withNode(id, this.limit(signal), look, work, this.#nodeWithinMs, noNode);
  }

  /**
   * Waits until commands can run in a pod. `gone` is called for a pod that is absent or
   * terminating: an error that it returns ends the wait.
   * @throws PortholeError `sandbox_not_running` with the pod's reason, once it can never start or
   * on a timeout
   */
  protected awaitPod(
    id: string,
    name: string,
    until: AbortSignal,
    gone: () => PortholeError | undefined,
  ): Promise<RunningPod> {
    const pod = { from: this.pods, name, reason: 'its pod is not there yet' };
    return awaitSettled<Pod, RunningPod>(this.watching, id, pod, until, (found) => {
      const now = podState(found);
      if (now.state === 'running') return { settled: now.pod };
      if (now.state === 'absent' || now.state === 'ending') {
        const error = gone();
        if (error !== undefined) throw error;
        return undefined;
      }
      if (now.state === 'ended' || now.isHopeless) throw sandboxNotRunning(id, now.reason);
      return now;
    });
  }

  /** Waits until an object is gone; a new object with the same name does not count. */
  protected async gone(
    id: string,
    from: Collection,
    { name, uid }: ObjectMeta,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const gone = (object: KubernetesObject | undefined) => (object?.metadata.uid === uid ? undefined : true);
    const until = this.limit(signal);
    try {
      await awaitObject(this.watching, from, name, gone, until);
    } catch (error) {
      if (isTimeout(until)) throw transportError(id, `${from.plural} ${name} is still there`, error);
      throw error;
    }
  }

  enforcement(): Promise<Enforcement> {
    return Promise.resolve(CLUSTER_ENFORCEMENT);
  }

  async quota(signal: AbortSignal): Promise<readonly QuotaCount[]> {
    const found = await find<ResourceQuota>(this.client, this.#quotas, SANDBOX_QUOTA, signal).catch(
      (error: unknown) => {
        // A Role that others keep may lack the right.
        if (isReason(error, 'Forbidden')) return undefined;
        throw error;
      },
    );
    const { hard = {}, used = {} } = found?.status ?? {};
    return Object.entries(hard).map(([name, most]) => ({
      // `count/sandboxclaims.extensions.agents.x-k8s.io`
      what: name.replace('count/', '').split('.')[0] ?? name,
      used: amountOf(used[name] ?? '0'),
      most: amountOf(most),
    }));
  }

  /** A node always reaches its own pods, so only a pod can tell. */
  async enforcesPolicies(ids: readonly string[], signal: AbortSignal): Promise<boolean | undefined> {
    if (!isInCluster()) return undefined;
    const found = await Promise.all(
      ids.map(async (id) => {
        // It may have stopped meanwhile.
        const pod = await this.running(id, signal).catch(() => undefined);
        return pod && refusesGatewayPort(pod, signal);
      }),
    );
    const known = found.filter((each) => each !== undefined);
    return known.length === 0 ? undefined : known.every(Boolean);
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

/**
 * How long a pod may be without a node or its image, in milliseconds: time to bind its volume, to
 * preempt others and to pull again, but less than the timeouts of callers and proxies.
 */
const NODE_WITHIN_MS = 20_000;

/** Polls of the pod within that time. */
const LOOKS = 10;

/**
 * Runs work that waits for a pod, and aborts it with the cluster's reason when no node is found or
 * the image cannot be pulled in time.
 * @param noNode called once, as soon as the scheduler finds no node
 * @throws PortholeError `capacity_exceeded`, `sandbox_not_running`
 */
export async function withNode<T>(
  id: string,
  until: AbortSignal,
  look: (signal: AbortSignal) => Promise<Pod | undefined>,
  work: (until: AbortSignal) => Promise<T>,
  withinMs: number,
  noNode: () => Promise<void> = () => Promise.resolve(),
): Promise<T> {
  const over = new AbortController();
  const limit = AbortSignal.any([until, over.signal]);
  const watch = async (): Promise<void> => {
    let since: number | undefined;
    let called = false;
    while (!limit.aborted) {
      await pause(withinMs / LOOKS, undefined, { signal: limit, ref: false });
      const now = podState(await look(limit).catch(() => undefined));
      if (now.state !== 'creating' || now.lacks === undefined) {
        since = undefined;
        continue;
      }
      since ??= performance.now();
      const error = now.lacks === 'node' ? noRoom : noImage;
      if (performance.now() - since >= withinMs) return over.abort(error(id, now.reason));
      if (called || now.lacks === 'image') continue;
      called = true;
      await noNode().catch(() => undefined);
    }
  };
  watch().catch(() => undefined);
  try {
    return await work(limit);
  } finally {
    over.abort();
  }
}

function noRoom(id: string, reason: string): PortholeError {
  return new PortholeError(
    'capacity_exceeded',
    `Sandbox ${id}: the cluster has no room for it (${reason}).`,
    { remedy: 'Stop or destroy a sandbox, or add a node.' },
  );
}

function noImage(id: string, reason: string): PortholeError {
  return new PortholeError('sandbox_not_running', `Sandbox ${id} does not run: ${reason}.`, {
    remedy: 'Look at the name of its image, at the registry, and at the pull secret of the namespace.',
  });
}
