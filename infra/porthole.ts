import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import { Access } from './access/access.ts';
import { Admission } from './admission/admission.ts';
import { apiUrl } from './functions/environment.plan.ts';
import { Functions } from './functions/functions.ts';
import { Gateway } from './gateway/gateway.ts';
import { Lifecycle } from './lifecycle/lifecycle.ts';
import { Namespaces } from './namespaces/namespaces.ts';
import { Network } from './network/network.ts';
import { Quota } from './quota/quota.ts';
import { Reaper } from './reaper/reaper.ts';
import { Routes } from './routes/routes.ts';
import { Snapshots } from './snapshots/snapshots.ts';
import { WarmPool } from './warm-pool/warm-pool.ts';
import { Sandboxes } from './sandboxes/sandboxes.ts';
import type { StackConfig } from './stack-config/stack-config-schema.ts';

/** Porthole on a cluster: one child a concern. Every guard stands before the first function starts. */
export class Porthole extends pulumi.ComponentResource {
  readonly apiUrl: string;
  readonly previewZone: string;
  readonly gatewayAddress: pulumi.Output<string | undefined>;

  constructor(name: string, args: StackConfig, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Porthole', name, {}, opts);
    const settings = {
      ...(args.context !== undefined && { context: args.context }),
      // Otherwise a changed setting would replace the ConfigMap, and whatever names it.
      enableConfigMapMutable: true,
      enableSecretMutable: true,
      // What the stack declares is the stack's: an update overrides other field managers. Where a
      // controller owns a field, `ignoreChanges` names it.
      enablePatchForce: true,
    };
    const provider = new kubernetes.Provider(`${name}-cluster`, settings, { parent: this });
    const own = { parent: this, providers: [provider] };
    const namespaces = new Namespaces(`${name}-namespaces`, args, own);
    const within = { ...own, dependsOn: [...namespaces.made] };

    // A create fails where the object exists, so that a renamed resource does not delete what it
    // has just made. Only the Gateway of a namespace that stands already
    // may exist, and is taken over.
    const mayExist = args.namespaces.existing.includes(args.namespaces.gateway);
    const adopting = mayExist
      ? new kubernetes.Provider(
          `${name}-adopting`,
          { ...settings, upsertExistingObjects: true },
          { parent: this },
        )
      : provider;
    const gateway = new Gateway(`${name}-gateway`, args, { ...within, providers: [adopting] });
    const guards = [
      new Network(`${name}-network`, args, within),
      new Quota(`${name}-quota`, args, within),
      new Admission(`${name}-admission`, args, within),
      new Access(`${name}-access`, args, within),
    ];
    const guarded = { ...own, dependsOn: guards };
    const sandboxes = new Sandboxes(`${name}-sandboxes`, args, guarded);
    const functions = new Functions(`${name}-functions`, args, guarded);
    const reaper = new Reaper(`${name}-reaper`, args, {
      ...own,
      dependsOn: [...guards, ...functions.environment],
    });
    const lifecycle = new Lifecycle(`${name}-lifecycle`, args, {
      ...own,
      dependsOn: [...guards, ...functions.environment],
    });
    const snapshots = new Snapshots(`${name}-snapshots`, args, {
      ...own,
      dependsOn: [...guards, ...functions.environment],
    });
    const warmPool = new WarmPool(`${name}-warm-pool`, args, {
      ...own,
      dependsOn: [...guards, sandboxes, ...functions.environment],
    });
    const routes = new Routes(`${name}-routes`, args, { ...own, dependsOn: [gateway, functions] });

    this.apiUrl = apiUrl(args);
    this.previewZone = args.zone;
    this.gatewayAddress = gateway.address;
    this.registerOutputs({
      apiUrl: this.apiUrl,
      previewZone: this.previewZone,
      gatewayAddress: this.gatewayAddress,
      parts: [
        namespaces,
        gateway,
        ...guards,
        sandboxes,
        functions,
        reaper,
        lifecycle,
        snapshots,
        warmPool,
        routes,
      ].map(({ urn }) => urn),
    });
  }
}
