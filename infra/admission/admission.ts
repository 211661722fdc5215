import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { admissionPlan, bindingPlan } from './admission.plan.ts';

/** What the API server refuses of previews and sandboxes, whoever asks. */
export class Admission extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'zone' | 'namespaces' | 'gateway' | 'preview' | 'sandboxes'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Admission', name, {}, opts);
    const { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } =
      kubernetes.admissionregistration.v1;
    const bindings = Object.entries(admissionPlan(args)).map(([id, plan]) => {
      const policy = new ValidatingAdmissionPolicy(`${name}-${id}`, plan, { parent: this });
      return new ValidatingAdmissionPolicyBinding(`${name}-${id}-binding`, bindingPlan(plan, args), {
        parent: this,
        dependsOn: [policy],
      });
    });
    this.registerOutputs({ bindings: bindings.map(({ id }) => id) });
  }
}
