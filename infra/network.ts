import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import {
  channelPlan,
  closedPlan,
  egressPlan,
  fromGatewayPlan,
  functionsPlan,
  internetPlan,
  toGuestPlan,
} from './network.plan.ts';

/** Network policies of sandboxes and of the functions. */
export class Network extends pulumi.ComponentResource {
  constructor(name: string, args: PortholeArgs | Settled, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Network', name, {}, opts);
    const { config, resolve } = Settled.of(args);
    const { NetworkPolicy } = kubernetes.networking.v1;
    const closed = new NetworkPolicy(`${name}-closed`, resolve(closedPlan(config)), { parent: this });
    // The default-deny policies come first.
    const opening = { parent: this, dependsOn: [closed] };
    const egress = resolve(egressPlan(config));
    const channel = resolve(channelPlan(config));
    const opened = [
      new NetworkPolicy(`${name}-functions`, resolve(functionsPlan(config)), { parent: this }),
      new NetworkPolicy(`${name}-from-gateway`, resolve(fromGatewayPlan(config)), opening),
      new NetworkPolicy(`${name}-internet`, resolve(internetPlan(config)), opening),
      ...(egress === undefined ? [] : [new NetworkPolicy(`${name}-egress`, egress, opening)]),
      new NetworkPolicy(`${name}-guests`, resolve(toGuestPlan(config)), opening),
      ...(channel === undefined ? [] : [new NetworkPolicy(`${name}-channel`, channel, opening)]),
    ];
    this.registerOutputs({ policies: [closed, ...opened].map(({ id }) => id) });
  }
}
