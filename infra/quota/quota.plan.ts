import { STACK_LABELS } from '../labels.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';

/** Routes of the stack itself: the API's and the wildcard that the fallback pages answer. */
export const FIXED_ROUTES = 2;

/** The cap on all previews together, where no race between functions can pass it. */
export function quotaPlan({
  namespaces,
  preview,
  sandboxes,
}: Pick<StackConfig, 'namespaces' | 'preview' | 'sandboxes'>) {
  const fixed = namespaces.functions === namespaces.previews ? FIXED_ROUTES : 0;
  const routes = preview.maxTotal + fixed + sandboxes.otherRoutes;
  return {
    metadata: { name: 'porthole-previews', namespace: namespaces.previews, labels: STACK_LABELS },
    spec: { hard: { 'count/httproutes.gateway.networking.k8s.io': String(routes) } },
  };
}
