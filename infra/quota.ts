import * as kubernetes from '@pulumi/kubernetes';
import { SANDBOX_QUOTA } from '../constructs/names.ts';
import { component } from './settings-with-outputs.ts';
import { sandboxProvider } from './sandbox-provider.plan.ts';
import { canonicalQuantity } from './quantity.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** The global caps on previews and on sandboxes, which the API server itself keeps. */
export class Quota extends component('Quota', ({ name, config, resolve, parent }) => {
  const { ResourceQuota } = kubernetes.core.v1;
  const previews = new ResourceQuota(name, resolve(quotaPlan(config)), { parent });
  const sandboxes = new ResourceQuota(`${name}-sandboxes`, resolve(sandboxQuotaPlan(config)), {
    parent,
  });
  return { previews: previews.id, sandboxes: sandboxes.id };
}) {}

const count = (objects: number) => canonicalQuantity(String(objects));

/** Routes of the stack itself: the API's, and the wildcard for the fallback pages. */
export const FIXED_ROUTES = 2;

/** The cap on all previews together: a ResourceQuota, so concurrent functions cannot exceed it. */
export function quotaPlan({ namespaces, preview, sandboxes }: StackConfig) {
  const fixed = namespaces.functions === namespaces.previews ? FIXED_ROUTES : 0;
  const routes = preview.maxTotal + fixed + sandboxes.otherRoutes;
  return {
    metadata: { name: 'porthole-previews', namespace: namespaces.previews, labels: STACK_LABELS },
    spec: { hard: { 'count/httproutes.gateway.networking.k8s.io': count(routes) } },
  };
}

/**
 * Most pods of the stack itself: replicas, twice while they roll, and for each of the four CronJobs
 * one that runs and four of its history.
 */
function ownPods({ functions, broker, browsers }: StackConfig): number {
  return 2 * (functions.maxReplicas + (broker?.replicas ?? 0) + (browsers?.replicas ?? 0)) + 4 * 5;
}

/**
 * The cap on all sandboxes together: on pods, or on claims with agent-sandbox. Separate from the
 * cap on previews, because every creation writes to the quota that counts it.
 */
export function sandboxQuotaPlan(config: StackConfig) {
  const { namespaces, sandboxes } = config;
  const { maxTotal, otherPods, warmPools } = sandboxes;
  const provider = sandboxProvider(sandboxes);
  const waiting = Object.values(warmPools).reduce((sum, { replicas }) => sum + replicas, 0);
  const volumes = maxTotal + waiting + otherPods;
  const pods = volumes + (namespaces.functions === namespaces.previews ? ownPods(config) : 0);
  return {
    metadata: { name: SANDBOX_QUOTA, namespace: namespaces.previews, labels: STACK_LABELS },
    spec: {
      hard: {
        ...(provider !== 'agent-sandbox' && {
          'count/pods': count(pods),
          'count/persistentvolumeclaims': count(volumes),
        }),
        ...(provider !== 'kubernetes' && {
          'count/sandboxclaims.extensions.agents.x-k8s.io': count(maxTotal),
        }),
      },
    },
  };
}
