import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import {
  channelPlan,
  closedPlan,
  egressPlan,
  fromGatewayPlan,
  functionsPlan,
  internetPlan,
  toGuestPlan,
} from './network.plan.ts';

/** What goes in and out of sandboxes, and who reaches the functions. */
export class Network extends pulumi.ComponentResource {
  constructor(
    name: string,
    args: Pick<StackConfig, 'namespaces' | 'gateway' | 'preview' | 'sandboxes' | 'functions'>,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Network', name, {}, opts);
    const { NetworkPolicy } = kubernetes.networking.v1;
    const closed = new NetworkPolicy(`${name}-closed`, closedPlan(args), { parent: this });
    // Nothing is opened before everything is closed.
    const opening = { parent: this, dependsOn: [closed] };
    const egress = egressPlan(args);
    const channel = channelPlan(args);
    const opened = [
      new NetworkPolicy(`${name}-functions`, functionsPlan(args), { parent: this }),
      new NetworkPolicy(`${name}-from-gateway`, fromGatewayPlan(args), opening),
      new NetworkPolicy(`${name}-internet`, internetPlan(args), opening),
      ...(egress === undefined ? [] : [new NetworkPolicy(`${name}-egress`, egress, opening)]),
      new NetworkPolicy(`${name}-guests`, toGuestPlan(args), opening),
      ...(channel === undefined ? [] : [new NetworkPolicy(`${name}-channel`, channel, opening)]),
    ];
    this.registerOutputs({ policies: [closed, ...opened].map(({ id }) => id) });
  }
}
