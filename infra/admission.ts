import * as kubernetes from '@pulumi/kubernetes';
import { component } from './settings-with-outputs.ts';
import { denyBinding, hasLabels } from '../constructs/admission-expressions.ts';
import { LABELS, PREVIEW_LABELS } from '../constructs/names.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { functionsPolicy } from './expressions.ts';
import { previewRoutesPlan } from './preview-routes.plan.ts';
import { previewServicesPlan } from './preview-services.plan.ts';
import { sandboxClaimsPlan, sandboxModesPlan, sandboxVolumesPlan } from './sandbox-objects.plan.ts';
import { sandboxPodsPlan } from './sandbox-pods.plan.ts';
import { zoneClaimsPolicyPlan } from './zone-claims.plan.ts';

/** Admission policies for previews and sandboxes; they apply to every client. */
export class Admission extends component('Admission', ({ name, config, resolve, parent }) => {
  const { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } = kubernetes.admissionregistration.v1;
  const bindings = Object.entries(resolve(admissionPlan(config))).map(([id, plan]) => {
    const policy = new ValidatingAdmissionPolicy(`${name}-${id}`, plan, { parent });
    return new ValidatingAdmissionPolicyBinding(`${name}-${id}-binding`, resolve(bindingPlan(plan, config)), {
      parent,
      dependsOn: [policy],
    });
  });
  return { bindings: bindings.map(({ id }) => id) };
}) {}

/**
 * Admission policy: the functions and the reaper cannot change or delete objects that Porthole did
 * not create, whatever their roles allow.
 */
export function foreignObjectsPlan({ namespaces }: StackConfig) {
  const managedBy = { [LABELS.managedBy]: PREVIEW_LABELS[LABELS.managedBy] };
  const rule = {
    apiGroups: ['', 'gateway.networking.k8s.io', 'extensions.agents.x-k8s.io'],
    resources: ['httproutes', 'services', 'pods', 'persistentvolumeclaims', 'sandboxclaims'],
    operations: ['UPDATE', 'DELETE'],
  };
  return functionsPolicy(namespaces, 'foreign-objects', rule, [
    {
      expression: hasLabels('oldObject', managedBy),
      message: 'foreign object: Porthole changes and deletes only what it made',
    },
  ]);
}

/** Every admission policy of the stack, by the id that its resources are named after. */
export function admissionPlan(config: StackConfig) {
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
export function bindingPlan({ metadata, spec }: Policy, { sandboxes }: StackConfig) {
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
