import type { KubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import {
  type Collections,
  EXTENSIONS,
  owner,
  type Pool,
  POOL_LABEL,
  poolHash,
  type Sandbox,
  type Template,
} from './objects.ts';
import { sandboxFor } from './reconcile-claim.ts';

/**
 * Keeps the pool's desired number of unclaimed Sandboxes, and reports how many of them are ready.
 */
export async function reconcilePool(
  client: KubernetesClient,
  at: Collections,
  pool: Pool,
  {
    templates,
    sandboxes,
  }: { readonly templates: readonly Template[]; readonly sandboxes: readonly Sandbox[] },
): Promise<void> {
  const label = poolHash(pool.metadata.name);
  const waiting = sandboxes.filter(
    ({ metadata }) => metadata.labels?.[POOL_LABEL] === label && metadata.deletionTimestamp === undefined,
  );
  const wanted = pool.spec.replicas ?? 1;
  const status = {
    replicas: waiting.length,
    readyReplicas: waiting.filter(isReady).length,
    selector: `${POOL_LABEL}=${label}`,
  };
  if (pool.status?.replicas !== status.replicas || pool.status.readyReplicas !== status.readyReplicas) {
    await client.jsonPatch(at.pools, `${pool.metadata.name}/status`, [
      { op: 'add', path: '/status', value: status },
    ]);
  }
  // Deletes those that are not ready first.
  const excess = waiting
    .toSorted((a, b) => Number(isReady(a)) - Number(isReady(b)))
    .slice(0, Math.max(0, waiting.length - wanted));
  for (const { metadata } of excess) await client.delete(at.sandboxes, metadata.name, { uid: metadata.uid });
  const template = templates.find(({ metadata }) => metadata.name === pool.spec.sandboxTemplateRef.name);
  if (template === undefined) return;
  for (let made = waiting.length; made < wanted; made += 1) {
    const name = `${pool.metadata.name}-${Math.random().toString(36).slice(2, 7)}`;
    const owners = [owner(`${EXTENSIONS}/v1beta1`, 'SandboxWarmPool', pool)];
    await client.create(at.sandboxes, sandboxFor(name, template.spec, {}, owners, { [POOL_LABEL]: label }));
  }
}

function isReady({ status }: Sandbox): boolean {
  return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
}
