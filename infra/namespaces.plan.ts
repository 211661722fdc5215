import { createsGateway } from './gateway.plan.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

/**
 * The namespaces to create: each once, without those that exist. They enforce the Pod Security
 * Standard `restricted`.
 */
export function namespacesPlan(config: Pick<StackConfig, 'namespaces' | 'gateway' | 'zones'>) {
  const { previews, gateway, functions, existing } = config.namespaces;
  const wanted = createsGateway(config) ? [previews, gateway, functions] : [previews, functions];
  return [...new Set(wanted)]
    .filter((name) => !existing.includes(name))
    .map((name) => ({
      metadata: {
        name,
        labels: {
          ...STACK_LABELS,
          ...(isOpenToGateway(name, { previews, gateway, functions })
            ? {}
            : { 'pod-security.kubernetes.io/enforce': 'restricted' }),
          'pod-security.kubernetes.io/warn': 'restricted',
        },
      },
    }));
}

/** Some controllers run a Gateway's pods in its namespace, and not all comply with `restricted`. */
function isOpenToGateway(
  name: string,
  { previews, gateway, functions }: { previews: string; gateway: string; functions: string },
): boolean {
  return name === gateway && name !== previews && name !== functions;
}
