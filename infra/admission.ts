import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { denyBinding, hasLabels, inNamespace } from '../constructs/admission-expressions.ts';
import { LABELS, PREVIEW_LABELS } from '../constructs/names.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { isOurs, policyMetadata } from './expressions.ts';
import { previewRoutesPlan } from './preview-routes.plan.ts';
import { previewServicesPlan } from './preview-services.plan.ts';
import { sandboxClaimsPlan } from './sandbox-claims.plan.ts';
import { sandboxModesPlan } from './sandbox-modes.plan.ts';
import { sandboxPodsPlan } from './sandbox-pods.plan.ts';
import { sandboxVolumesPlan } from './sandbox-volumes.plan.ts';
import { zoneClaimsPolicyPlan } from './zone-claims.plan.ts';

/** Admission policies for previews and sandboxes; they apply to every client. */
export class Admission extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Admission', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } =
      kubernetes.admissionregistration.v1;
    const bindings = Object.entries(resolve(admissionPlan(config))).map(([id, plan]) => {
      const policy = new ValidatingAdmissionPolicy(`${name}-${id}`, plan, { parent: this });
      return new ValidatingAdmissionPolicyBinding(
        `${name}-${id}-binding`,
        resolve(bindingPlan(plan, config)),
        {
          parent: this,
          dependsOn: [policy],
        },
      );
    });
    this.registerOutputs({ bindings: bindings.map(({ id }) => id) });
  }
}

/**
 * Admission policy: the functions and the reaper cannot change or delete objects that Porthole did
 * not create, whatever their roles allow.
 */
export function foreignObjectsPlan({ namespaces }: Pick<StackConfig, 'namespaces'>) {
  const managedBy = { [LABELS.managedBy]: PREVIEW_LABELS[LABELS.managedBy] };
  return {
    metadata: policyMetadata(namespaces, 'foreign-objects'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inNamespace(namespaces.previews, {
        apiGroups: ['', 'gateway.networking.k8s.io', 'extensions.agents.x-k8s.io'],
        resources: ['httproutes', 'services', 'pods', 'persistentvolumeclaims', 'sandboxclaims'],
        operations: ['UPDATE', 'DELETE'],
      }),
      matchConditions: [{ name: 'by-the-functions', expression: isOurs(namespaces) }],
      validations: [
        {
          expression: hasLabels('oldObject', managedBy),
          message: 'foreign object: Porthole changes and deletes only what it made',
        },
      ],
    },
  };
}

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
