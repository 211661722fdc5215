import { createGuestKeys, deriveKeySet } from '../protocol/guest/key-set.ts';
import { JwksSchema } from '../protocol/settings/shared-values.ts';
import { sandboxTemplateManifest, warmPoolManifest } from '../constructs/agent-sandbox-manifests.ts';
import { defaultWarmPool } from './sandbox-provider.plan.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** Public keys of the functions, for the guests of templates; undefined if not configured. */
export function guestKeys({ sandboxes, signingKeys }: StackConfig): string | undefined {
  if (sandboxes.guestKeys !== undefined || signingKeys === undefined) return sandboxes.guestKeys;
  return deriveGuestKeys(signingKeys);
}

/** @param signingKeys a JWKS */
export function deriveGuestKeys(signingKeys: string): string {
  return createGuestKeys(deriveKeySet(JwksSchema.parse(JSON.parse(signingKeys)))).publicKeys;
}

/** SandboxTemplates, by name. */
export function templatesPlan(config: StackConfig) {
  const { namespaces, sandboxes } = config;
  return Object.entries(sandboxes.templates).map(([name, { pod = sandboxes.pod, ...template }]) => {
    const { labels, annotations, ...placement } = pod;
    return sandboxTemplateManifest({
      ...sandboxes,
      ...placement,
      ...template,
      priorityClassName: template.priorityClassName ?? sandboxes.priorityClassName,
      runtimeClassName: template.runtimeClassName ?? sandboxes.runtimeClassName,
      name,
      namespace: namespaces.previews,
      labels: STACK_LABELS,
      podLabels: labels,
      podAnnotations: annotations,
      guestKeys: guestKeys(config) ?? '',
      brokered: config.broker !== undefined,
    });
  });
}

/** Whether the functions scale the pool to `warmPoolTarget`. */
export function isScaledByFunctions(sandboxes: StackConfig['sandboxes'], pool: string): boolean {
  return sandboxes.warmPoolTarget > 0 && pool === defaultWarmPool(sandboxes);
}

/** SandboxWarmPools, by name. */
export function warmPoolsPlan({ namespaces, sandboxes }: StackConfig) {
  return Object.entries(sandboxes.warmPools).map(([name, { template, replicas }]) =>
    warmPoolManifest({
      name,
      namespace: namespaces.previews,
      template,
      replicas: isScaledByFunctions(sandboxes, name) ? sandboxes.warmPoolTarget : replicas,
      labels: STACK_LABELS,
    }),
  );
}
