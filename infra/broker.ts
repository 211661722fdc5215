import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import { brokerBudgetPlan, brokerDeploymentPlan, brokerServicePlan } from './broker.plan.ts';
import type { PortholeArgs } from './porthole-args.ts';
import { StackConfigError } from './read-stack-config.ts';
import { Settled } from './settled.ts';

/** The broker of the sandboxes' connections. */
export class Broker extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Broker', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const { broker } = config;
    if (broker === undefined) throw new StackConfigError(['broker: is required for the component Broker']);
    const own = { ...config, broker };
    const { Deployment } = kubernetes.apps.v1;
    const deployment = new Deployment(name, resolve(brokerDeploymentPlan(own)), { parent: this });
    const after = { parent: this, dependsOn: [deployment] };
    const { PodDisruptionBudget } = kubernetes.policy.v1;
    const budget = new PodDisruptionBudget(`${name}-budget`, resolve(brokerBudgetPlan(own)), after);
    // A Service is ready once it has pods: it waits for them.
    const service = new kubernetes.core.v1.Service(`${name}-service`, resolve(brokerServicePlan(own)), after);
    this.registerOutputs({ deployment: deployment.id, budget: budget.id, service: service.id });
  }
}
