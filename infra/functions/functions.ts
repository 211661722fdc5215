import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import { ARCHIVES_SECRET, archiveSecretPlan } from '../archives/archives.plan.ts';
import { STACK_LABELS } from '../labels.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { authorities, authorityData } from './authorities.plan.ts';
import { environmentPlan, secretsPlan } from './environment.plan.ts';
import { autoscalerPlan, deploymentPlan, disruptionBudgetPlan, servicePlan } from './functions.plan.ts';
import { ENVIRONMENT_NAME } from './pod.plan.ts';

/** The stateless functions: their environment, their pods, and the Service in front of them. */
export class Functions extends pulumi.ComponentResource {
  readonly service: kubernetes.core.v1.Service;
  /** What any other pod with the same environment needs to be there first. */
  readonly environment: readonly pulumi.Resource[];

  constructor(name: string, args: StackConfig, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Functions', name, {}, opts);
    const parent = { parent: this };
    const metadata = {
      name: ENVIRONMENT_NAME,
      namespace: args.namespaces.functions,
      labels: STACK_LABELS,
    };
    const settings = new kubernetes.core.v1.ConfigMap(
      `${name}-environment`,
      { metadata, data: environmentPlan(args) },
      parent,
    );
    const secret = (id: string, called: string, data: Record<string, string> | undefined) =>
      data === undefined
        ? []
        : [
            new kubernetes.core.v1.Secret(
              `${name}-${id}`,
              {
                metadata: { ...metadata, name: called },
                type: 'Opaque',
                stringData: pulumi.secret(data),
              },
              parent,
            ),
          ];
    this.environment = [
      settings,
      ...authorities(args).map(
        (authority) =>
          new kubernetes.core.v1.ConfigMap(
            `${name}-${authority.name.slice(`${ENVIRONMENT_NAME}-`.length)}`,
            { metadata: { ...metadata, name: authority.name }, data: authorityData(authority) },
            parent,
          ),
      ),
      ...secret('secrets', ENVIRONMENT_NAME, secretsPlan(args)),
      ...secret('archives', ARCHIVES_SECRET, archiveSecretPlan(args)),
    ];
    const deployment = new kubernetes.apps.v1.Deployment(name, deploymentPlan(args), {
      parent: this,
      dependsOn: [...this.environment],
      // After the first roll-out the autoscaler, or whoever operates it, decides.
      ignoreChanges: ['spec.replicas'],
    });
    const after = { parent: this, dependsOn: [deployment] };
    const { PodDisruptionBudget } = kubernetes.policy.v1;
    const { HorizontalPodAutoscaler } = kubernetes.autoscaling.v2;
    const scaling = autoscalerPlan(args);
    const guardians = [
      new PodDisruptionBudget(`${name}-budget`, disruptionBudgetPlan(args), after),
      ...(scaling === undefined ? [] : [new HorizontalPodAutoscaler(`${name}-autoscaler`, scaling, after)]),
    ];
    // A Service is ready once it has pods: it waits for them.
    this.service = new kubernetes.core.v1.Service(`${name}-service`, servicePlan(args), after);
    this.registerOutputs({
      deployment: deployment.id,
      service: this.service.id,
      guardians: guardians.map(({ id }) => id),
    });
  }
}
