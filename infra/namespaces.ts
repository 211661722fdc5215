import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { PortholeArgs } from './porthole-args.ts';
import { SettingsWithOutputs } from './settings-with-outputs.ts';
import { zoneClaimsPlan } from './zone-claims.plan.ts';
import { createsGateway } from './gateway.plan.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** The namespaces of all other objects, and the claims of the zones. */
export class Namespaces extends pulumi.ComponentResource {
  readonly made: readonly pulumi.Resource[];

  constructor(
    name: string,
    args: PortholeArgs | SettingsWithOutputs,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Namespaces', name, {}, opts);
    const { config, resolve } = SettingsWithOutputs.of(args);
    const claims = resolve(zoneClaimsPlan(config)).map(
      (plan, at) =>
        new kubernetes.rbac.v1.ClusterRole(
          at === 0 ? `${name}-zone` : `${name}-zone-${config.zones[at - 1]?.zone}`,
          plan,
          { parent: this },
        ),
    );
    // Without its zones an installation makes nothing, and it gives them up last.
    const claimed = { parent: this, dependsOn: claims };
    const namespaces = resolve(namespacesPlan(config)).map(
      (plan) => new kubernetes.core.v1.Namespace(`${name}-${plan.metadata.name}`, plan, claimed),
    );
    this.made = [...claims, ...namespaces];
    this.registerOutputs({ made: namespaces.map((namespace) => namespace.metadata.name) });
  }
}

/**
 * The namespaces to create: each once, without those that exist. They enforce the Pod Security
 * Standard `restricted`.
 */
export function namespacesPlan(config: StackConfig) {
  const { previews, gateway, functions, existing } = config.namespaces;
  const wanted = createsGateway(config) ? [previews, gateway, functions] : [previews, functions];
  return [...new Set(wanted)]
    .filter((name) => !existing.includes(name))
    .map((name) => ({
      metadata: {
        name,
        labels: {
          ...STACK_LABELS,
          ...(isOpenToGateway(name, { previews, gateway, functions })
            ? {}
            : { 'pod-security.kubernetes.io/enforce': 'restricted' }),
          'pod-security.kubernetes.io/warn': 'restricted',
        },
      },
    }));
}

/** Some controllers run a Gateway's pods in its namespace, and not all comply with `restricted`. */
function isOpenToGateway(
  name: string,
  { previews, gateway, functions }: { previews: string; gateway: string; functions: string },
): boolean {
  return name === gateway && name !== previews && name !== functions;
}
