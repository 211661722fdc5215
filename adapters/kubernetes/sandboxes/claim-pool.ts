import { SANDBOX_LABELS, selector } from '#constructs/names.ts';
import { PortholeError } from '#base/errors.ts';
import { type WarmPool, type WarmPoolConfig, missingFromPool } from '#core/sandboxes/warm-pool.ts';
import {
  type Collection,
  collection,
  type Kind,
  type KubernetesObject,
} from '../client/kubernetes-object.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { KubernetesError } from '../client/kubernetes-error.ts';
import { type Claim, CLAIMS_API, SANDBOX_CLAIMS, claimState } from './claim-state.ts';

const SANDBOX_WARM_POOLS: Kind = { ...CLAIMS_API, plural: 'sandboxwarmpools' };

interface PoolObject extends KubernetesObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly readyReplicas?: number };
}

export interface AgentSandboxPoolOptions {
  /** Closed by the caller. */
  readonly client: KubernetesClient;
  readonly namespace: string;
  readonly warmPool: string;
  readonly config: WarmPoolConfig;
}

/** A warm pool that can free its capacity for callers. */
export interface AgentSandboxPool extends WarmPool {
  /**
   * Scales the pool to 0, so that callers get its capacity; the next `prime` without a waiting
   * caller refills it. A PriorityClass cannot do this: a pod keeps its priority when it is claimed,
   * so others could preempt claimed sandboxes.
   */
  makeRoom(): Promise<void>;
}

/**
 * The SandboxWarmPool of claims without an image. Its controller creates, replaces and assigns the
 * sandboxes; this code only sets the replicas, by the scale subresource. With a target of 0, the
 * operator's value is kept.
 */
export function createAgentSandboxPool(options: AgentSandboxPoolOptions): AgentSandboxPool {
  const { client, namespace, warmPool, config } = options;
  const pools = collection(SANDBOX_WARM_POOLS, namespace);
  const claims = collection(SANDBOX_CLAIMS, namespace);
  const reportingErrors = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw poolError(warmPool, pools, error);
    }
  };
  const own = { labelSelector: selector(SANDBOX_LABELS) };
  /** Counts the claims of all pools: a metadata-only list does not contain the pool. */
  const countClaims = async (signal: AbortSignal | undefined): Promise<number> => {
    let count = 0;
    for await (const _ of client.list(claims, { ...own, metadataOnly: true }, signal)) count += 1;
    return count;
  };
  /** Whether a caller waits for a sandbox: a refill could take its capacity. */
  const hasWaiting = async (signal: AbortSignal | undefined): Promise<boolean> => {
    for await (const claim of client.list<Claim>(claims, own, signal)) {
      if (claimState(claim).state === 'creating') return true;
    }
    return false;
  };
  const scale = (replicas: number, signal: AbortSignal | undefined) =>
    reportingErrors(async () => {
      const { spec } = await client.get<PoolObject>(pools, warmPool, signal);
      if (spec?.replicas === replicas) return;
      await client.mergePatch(pools, `${warmPool}/scale`, { spec: { replicas } }, signal);
    });
  return {
    stats: (signal) =>
      reportingErrors(async () => {
        const [{ status }, assigned] = await Promise.all([
          client.get<PoolObject>(pools, warmPool, signal),
          countClaims(signal),
        ]);
        const warm = status?.readyReplicas ?? 0;
        return {
          warm,
          assigned,
          total: warm + assigned,
          config,
          maxInstances: config.maxInstances || null,
        };
      }),
    prime: (signal) =>
      reportingErrors(async () => {
        if (config.warmTarget === 0 || (await hasWaiting(signal))) return;
        const assigned = config.maxInstances === 0 ? 0 : await countClaims(signal);
        await scale(missingFromPool(0, assigned, config), signal);
      }),
    refresh: () => Promise.resolve(),
    drain: (signal) => scale(0, signal),
    makeRoom: async () => {
      // With a target of 0, keep the operator's value.
      if (config.warmTarget > 0) await scale(0, undefined);
    },
    take: () => Promise.resolve(undefined),
    close: () => Promise.resolve(),
  };
}

function poolError(warmPool: string, { plural }: Collection, error: unknown): unknown {
  if (!(error instanceof KubernetesError)) return error;
  return new PortholeError(
    'exec_transport_error',
    `Warm pool ${warmPool}: the cluster rejected the request (${error.message}).`,
    {
      remedy: `Check that the pool exists, and that the functions may get ${plural} and patch ${plural}/scale.`,
      cause: error,
    },
  );
}
