/**
 * Replaces the controller of agent-sandbox, which a test machine cannot have: keeps warm pools
 * filled, gives claims Sandboxes and Sandboxes real pods, suspends and wakes them, and writes the
 * conditions and annotations that the real one writes. One namespace, one writer; deletion is left
 * to the cluster's garbage collector.
 */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Collection, KubernetesObject } from '#adapters/kubernetes/client/kubernetes-object.ts';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { openClusterStreams } from '#adapters/kubernetes/sandboxes/cluster-streams.ts';
import {
  type Claim,
  collections,
  type Pool,
  type Sandbox,
  type SandboxPod,
  type Template,
} from './objects.ts';
import { reconcileClaim } from './reconcile-claim.ts';
import { reconcilePool } from './reconcile-pool.ts';
import { reconcileSandbox } from './reconcile-sandbox.ts';

/** Delay before a retry, in milliseconds. */
const AGAIN_MS = 100;
/** Events that come within this time, in milliseconds, cause one pass: it reads everything. */
const TOGETHER_MS = 30;

export interface StandIn {
  stop(): Promise<void>;
}

export function startStandIn(access: ClusterAccess, namespace: string): StandIn {
  const client = createKubernetesClient({ access });
  const streams = openClusterStreams(access);
  const at = collections(namespace);
  const stopping = new AbortController();
  const { signal } = stopping;
  // Listened to from the start: `stop` may come during a pass.
  const aborted = once(signal, 'abort');
  let woken = Promise.withResolvers<void>();

  const all = async <T extends KubernetesObject>(from: Collection): Promise<T[]> => {
    const objects: T[] = [];
    for await (const object of client.list<T>(from, {}, signal)) objects.push(object);
    return objects;
  };

  const pass = async (): Promise<void> => {
    const [claims, pools, templates, sandboxes, pods] = await Promise.all([
      all<Claim>(at.claims),
      all<Pool>(at.pools),
      all<Template>(at.templates),
      all<Sandbox>(at.sandboxes),
      all<SandboxPod>(at.pods),
    ]);
    const steps = [
      ...sandboxes.map((sandbox) => async () => {
        const pod = pods.find(({ metadata }) => metadata.name === sandbox.metadata.name);
        await reconcileSandbox(client, at, sandbox, pod);
      }),
      ...claims.map((claim) => () => reconcileClaim(client, at, claim, { pools, templates, sandboxes })),
      ...pools.map((pool) => () => reconcilePool(client, at, pool, { templates, sandboxes })),
    ];
    // An object that another writer has changed meanwhile is reconciled again with its event.
    for (const step of steps) await step().catch(() => {});
  };

  /** Definitions that have just been installed are not always served. */
  const again = async (): Promise<void> => {
    await pause(AGAIN_MS, undefined, { signal });
    woken.resolve();
  };

  /** Every event of a kind triggers a pass; its content does not matter. */
  const listen = async (from: Collection): Promise<void> => {
    while (!signal.aborted) {
      const request = { path: `${from.path}?watch=true&timeoutSeconds=300`, what: `watch ${from.plural}` };
      try {
        const body = await streams.body(request, signal);
        for await (const piece of body) if (String(piece) !== '') woken.resolve();
      } catch {
        await again();
      }
    }
  };

  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      woken = Promise.withResolvers<void>();
      await pass().catch(again);
      await Promise.race([woken.promise, aborted]);
      await pause(TOGETHER_MS, undefined, { signal }).catch(() => undefined);
    }
  };

  const tasks = [work(), ...[at.claims, at.pools, at.sandboxes, at.pods].map(listen)];
  const ended = Promise.allSettled(tasks);
  return {
    stop: async () => {
      stopping.abort();
      await ended;
      streams.close();
      client.close();
    },
  };
}
