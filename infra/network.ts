import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { Settled } from './settled.ts';
import {
  brokerPlan,
  channelPlan,
  closedPlan,
  egressPlan,
  fromGatewayPlan,
  functionsPlan,
  internetPlan,
  toBrokerPlan,
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
    const optional = {
      internet: resolve(internetPlan(config)),
      egress: resolve(egressPlan(config)),
      channel: resolve(channelPlan(config)),
      'to-broker': resolve(toBrokerPlan(config)),
      broker: resolve(brokerPlan(config)),
    };
    const opened = [
      new NetworkPolicy(`${name}-functions`, resolve(functionsPlan(config)), { parent: this }),
      new NetworkPolicy(`${name}-from-gateway`, resolve(fromGatewayPlan(config)), opening),
      new NetworkPolicy(`${name}-guests`, resolve(toGuestPlan(config)), opening),
      ...Object.entries(optional).flatMap(([called, plan]) =>
        plan === undefined ? [] : [new NetworkPolicy(`${name}-${called}`, plan, opening)],
      ),
    ];
    this.registerOutputs({ policies: [closed, ...opened].map(({ id }) => id) });
  }
}
