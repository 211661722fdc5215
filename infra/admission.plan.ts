import { denyBinding } from '../constructs/admission-expressions.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { foreignObjectsPlan } from './foreign-objects.plan.ts';
import { previewRoutesPlan } from './preview-routes.plan.ts';
import { previewServicesPlan } from './preview-services.plan.ts';
import { sandboxClaimsPlan } from './sandbox-claims.plan.ts';
import { sandboxModesPlan } from './sandbox-modes.plan.ts';
import { sandboxPodsPlan } from './sandbox-pods.plan.ts';
import { sandboxVolumesPlan } from './sandbox-volumes.plan.ts';
import { zoneClaimsPolicyPlan } from './zone-claims.plan.ts';

/** Every admission policy of the stack, by the id that its resources are named after. */
export function admissionPlan(
  config: Pick<StackConfig, 'zone' | 'zones' | 'namespaces' | 'gateway' | 'preview' | 'sandboxes'>,
) {
  return {
    'preview-routes': previewRoutesPlan(config),
    'preview-services': previewServicesPlan(config),
    'sandbox-pods': sandboxPodsPlan(config),
    'sandbox-volumes': sandboxVolumesPlan(config),
    'sandbox-claims': sandboxClaimsPlan(config),
    'sandbox-modes': sandboxModesPlan(config),
    'foreign-objects': foreignObjectsPlan(config),
    'zone-claims': zoneClaimsPolicyPlan(config),
  };
}

interface Policy {
  readonly metadata: { readonly name: string; readonly labels: Record<string, string> };
  readonly spec: { readonly failurePolicy: string; readonly paramKind?: object };
}

/**
 * Binds a policy with action Deny. It also denies all matching requests while the RuntimeClass that
 * it reads does not exist.
 */
export function bindingPlan({ metadata, spec }: Policy, { sandboxes }: Pick<StackConfig, 'sandboxes'>) {
  return {
    metadata,
    spec: {
      ...denyBinding(metadata),
      ...(spec.paramKind !== undefined && {
        paramRef: { name: sandboxes.runtimeClassName, parameterNotFoundAction: 'Deny' },
      }),
    },
  };
}
