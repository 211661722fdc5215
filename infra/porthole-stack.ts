import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import { Access } from './access.ts';
import { Admission } from './admission.ts';
import { Broker } from './broker.ts';
import { Browsers } from './browsers.ts';
import { apiUrl } from './environment.plan.ts';
import { Functions } from './functions.ts';
import { servedZones, sharedGateway } from './gateway.plan.ts';
import { Gateway } from './preview-gateway-routes.ts';
import type { PortholeArgs } from './porthole-args.ts';
import { SettingsWithOutputs } from './settings-with-outputs.ts';
import { Lifecycle, Reaper, Snapshots, WarmPool } from './scheduled-jobs.ts';
import { Namespaces } from './namespaces.ts';
import { Network } from './network.ts';
import { Quota } from './quota.ts';
import { Routes } from './routes.ts';
import { Sandboxes } from './sandbox-templates.ts';
import { StackConfigError } from './read-stack-config.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** Definitions that others install, and the objects of a stack need. */
function neededDefinitions({ sandboxes, certificates, gateway }: StackConfig) {
  const needs = [];
  if (Object.keys(sandboxes.templates).length > 0) {
    needs.push({ name: 'agent-sandbox', id: 'sandboxtemplates.extensions.agents.x-k8s.io' });
  }
  // A preview of other stacks needs no cluster. An update would wait for these for a minute.
  if (certificates.issuer !== undefined && gateway.existing === undefined && !pulumi.runtime.isDryRun()) {
    needs.push({ name: 'cert-manager', id: 'certificates.cert-manager.io' });
  }
  return needs;
}

/**
 * Porthole on a cluster: one child a concern. Guards are in force before the first function starts.
 */
export class Porthole extends pulumi.ComponentResource {
  readonly apiUrl: pulumi.Output<string>;
  readonly previewZone: pulumi.Output<string>;
  /** Every zone, the one above first. */
  readonly previewZones: pulumi.Output<string[]>;
  /** IP address or host name that DNS must point the zone and the API's host at. */
  readonly gatewayAddress: pulumi.Output<string | undefined>;
  readonly namespaces: { readonly previews: string; readonly functions: string };
  /** The Gateway that previews attach to, and its listener. */
  readonly gateway: pulumi.Output<{
    readonly name: string;
    readonly namespace: string;
    readonly listener: string;
  }>;
  readonly functions: {
    /** Service of the API, in the functions' namespace. */
    readonly service: pulumi.Output<string>;
    readonly serviceAccount: string;
    /** ConfigMaps and Secrets that the pods of the functions read. */
    readonly configMaps: readonly string[];
    readonly secrets: pulumi.Output<string[]>;
  };

  /**
   * @param opts a Kubernetes provider in `provider` or `providers` is used for every object;
   * without one Porthole makes its own, for `context`
   * @throws StackConfigError naming every problem of the arguments at once
   */
  constructor(name: string, args: PortholeArgs, opts?: pulumi.ComponentResourceOptions) {
    super('porthole:infra:Porthole', name, {}, opts);
    const settings = SettingsWithOutputs.of(args);
    const { config, resolve } = settings;
    const { own, adopting } = this.#providers(name, settings);
    const namespaces = new Namespaces(`${name}-namespaces`, settings, own);
    const within = { ...own, dependsOn: [...namespaces.made] };
    const gateway = new Gateway(`${name}-gateway`, settings, { ...within, ...adopting });
    const guards = [
      new Network(`${name}-network`, settings, within),
      new Quota(`${name}-quota`, settings, within),
      new Admission(`${name}-admission`, settings, within),
      new Access(`${name}-access`, settings, within),
    ];
    const guarded = { ...own, dependsOn: guards };
    const sandboxes = new Sandboxes(`${name}-sandboxes`, settings, guarded);
    // Fails without the CRDs. A program with its own provider may install them itself.
    const provider = 'providers' in own ? own.providers[0] : undefined;
    if (provider !== undefined) {
      for (const { name: needed, id } of neededDefinitions(config)) {
        const definition = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
        const read = { parent: this, provider, id };
        void new kubernetes.apiextensions.CustomResource(`${name}-needs-${needed}`, definition, read);
      }
    }
    // Without the CRDs of agent-sandbox the update fails before it changes the functions.
    const functions = new Functions(`${name}-functions`, settings, {
      ...own,
      dependsOn: [...guards, sandboxes],
    });
    const running = { ...own, dependsOn: [...guards, ...functions.environment] };
    const parts = [
      namespaces,
      gateway,
      ...guards,
      sandboxes,
      functions,
      ...(config.broker === undefined ? [] : [new Broker(`${name}-broker`, settings, running)]),
      ...(config.browsers === undefined ? [] : [new Browsers(`${name}-browsers`, settings, guarded)]),
      new Reaper(`${name}-reaper`, settings, running),
      new Lifecycle(`${name}-lifecycle`, settings, running),
      ...(config.functions.featuresOff.includes('editor')
        ? []
        : [new Snapshots(`${name}-snapshots`, settings, running)]),
      new WarmPool(`${name}-warm-pool`, settings, {
        ...running,
        dependsOn: [...running.dependsOn, sandboxes],
      }),
      new Routes(`${name}-routes`, settings, { ...own, dependsOn: [gateway, functions] }),
    ];

    this.apiUrl = pulumi.output(resolve(apiUrl(config)));
    this.previewZone = pulumi.output(resolve(config.zone));
    this.previewZones = pulumi.output(resolve(servedZones(config).map(({ zone }) => zone)));
    this.gatewayAddress = gateway.address;
    const { previews, functions: ofFunctions } = config.namespaces;
    this.namespaces = { previews, functions: ofFunctions };
    const { name: called, namespace, listener } = resolve(sharedGateway(config));
    this.gateway = pulumi.output({ name: called, namespace, listener });
    this.functions = {
      service: functions.service.metadata.name,
      serviceAccount: functions.serviceAccount,
      configMaps: functions.configMaps,
      secrets: pulumi.all([...functions.secrets]),
    };
    this.registerOutputs({
      apiUrl: this.apiUrl,
      previewZone: this.previewZone,
      previewZones: this.previewZones,
      gatewayAddress: this.gatewayAddress,
      namespaces: this.namespaces,
      gateway: this.gateway,
      functions: this.functions,
      parts: parts.map(({ urn }) => urn),
    });
  }

  /** Options of the parts, and those of a Gateway that may exist already. */
  #providers(name: string, { config }: SettingsWithOutputs) {
    const { context, namespaces } = config;
    const parent = { parent: this };
    if (this.getProvider('kubernetes:core/v1:Namespace') !== undefined) {
      if (context === undefined) return { own: parent, adopting: {} };
      throw new StackConfigError(['context: is not used, because the provider is given: remove it']);
    }
    const settings = {
      ...(context !== undefined && { context }),
      // Otherwise a changed setting would replace the ConfigMap, and whatever names it.
      enableConfigMapMutable: true,
      enableSecretMutable: true,
      // What the stack declares is the stack's: an update overrides other field managers. Where a
      // controller owns a field, `ignoreChanges` names it.
      enablePatchForce: true,
    };
    const own = {
      parent: this,
      providers: [new kubernetes.Provider(`${name}-cluster`, settings, parent)],
    };
    // A create fails where the object exists, so that a renamed resource does not delete what it
    // has just made. Only the Gateway of an existing namespace may exist, and is taken over.
    if (!namespaces.existing.includes(namespaces.gateway)) return { own, adopting: {} };
    const upserting = { ...settings, upsertExistingObjects: true };
    return {
      own,
      adopting: { providers: [new kubernetes.Provider(`${name}-adopting`, upserting, parent)] },
    };
  }
}
