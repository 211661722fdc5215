import type { ResourceValidationPolicy } from '@pulumi/policy';
import { isConfigMap } from './kinds.ts';
import { type PodSpec, sandboxSpecOf } from './pod-spec.ts';

type Placement = Pick<PodSpec, 'nodeSelector' | 'tolerations'>;

export const sandboxPlacement: ResourceValidationPolicy = {
  name: 'sandbox-placement',
  description: 'A sandbox runs on nodes for sandboxes, and on none of the control plane.',
  remediationSteps: 'Set sandboxes.pod.nodeSelector; name the key of each of sandboxes.pod.tolerations.',
  configSchema: {
    properties: {
      nodeSelector: {
        type: 'object',
        additionalProperties: { type: 'string' },
        default: {},
        description: 'Labels of nodes that it must select',
      },
    },
  },
  validateResource(args, report) {
    const placement = placementOf(args.type, args.props);
    if (placement === undefined) return;
    const { nodeSelector = {} } = args.getConfig<{ nodeSelector?: Readonly<Record<string, string>> }>();
    for (const [key, value] of Object.entries(nodeSelector)) {
      if (placement.nodeSelector?.[key] !== value) report(`It does not select nodes with ${key}=${value}.`);
    }
    for (const { key } of placement.tolerations ?? []) {
      if (!key) report('It tolerates every taint.');
      else if (/^node-role\.kubernetes\.io\/(control-plane|master)$/.test(key))
        report(`It tolerates ${key}.`);
    }
  },
};

/** Of a template, or of the pods that the functions make; undefined for everything else. */
function placementOf(type: string, props: object): Placement | undefined {
  if (!isConfigMap(type)) return sandboxSpecOf(type, props);
  const { data } = props as { data?: Readonly<Record<string, string>> };
  if (!['kubernetes', 'auto'].includes(data?.['PORTHOLE_PROVIDER'] ?? '')) return undefined;
  return JSON.parse(data?.['PORTHOLE_SANDBOX_POD'] ?? '{}') as Placement;
}
