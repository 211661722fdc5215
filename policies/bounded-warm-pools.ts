import type { ResourceValidationPolicy } from '@pulumi/policy';
import { isWarmPool } from './kinds.ts';

const MAX_REPLICAS = 50;

export const boundedWarmPools: ResourceValidationPolicy = {
  name: 'bounded-warm-pools',
  description: 'A warm pool says how many sandboxes it keeps ready, and keeps no more than the maximum.',
  remediationSteps: 'Lower sandboxes.warmPools.{name}.replicas, or raise the maximum of this policy.',
  configSchema: {
    properties: {
      maximum: {
        type: 'integer',
        default: MAX_REPLICAS,
        description: 'Most sandboxes a pool may keep ready',
      },
    },
  },
  validateResource(args, report) {
    if (!isWarmPool(args.type)) return;
    const { maximum = MAX_REPLICAS } = args.getConfig<{ maximum?: number }>();
    const { spec } = args.props as { spec?: { replicas?: number } };
    if (spec?.replicas === undefined) report('It does not say how many.');
    else if (spec.replicas > maximum) report(`It keeps ${spec.replicas}; the maximum is ${maximum}.`);
  },
};
