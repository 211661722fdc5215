import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import { admissionPlan, bindingPlan } from './admission.plan.ts';

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
