import type { StackValidationPolicy } from '@pulumi/policy';
import { hasListeners, isRoute } from './kinds.ts';
import { settingsOf } from './policy-settings.ts';

export const wildcardUnderZone: StackValidationPolicy = {
  name: 'wildcard-under-zone',
  description: 'Wildcards are those of the preview zones; every other host is named, and a listener has one.',
  remediationSteps: 'Set zone, and name the host of everything else.',
  validateStack({ resources }, report) {
    const settings = settingsOf(resources);
    if (settings === undefined) return;
    const more = JSON.parse(settings['PORTHOLE_ZONES'] ?? '[]') as readonly { readonly zone: string }[];
    const zones = [settings['Sandbox__Preview__ZoneSuffix'], ...more.map(({ zone }) => zone)];
    const wildcards = zones.map((zone) => `*.${zone}`);
    for (const { type, props, urn } of resources) {
      for (const host of hostsOf(type, props)) {
        if (host === undefined) report('It takes every host.', urn);
        else if (host.includes('*') && !wildcards.includes(host)) {
          report(`It takes ${host}; the zone is ${wildcards.join(', ')}.`, urn);
        }
      }
    }
  },
};

function hostsOf(type: string, props: object): readonly (string | undefined)[] {
  if (hasListeners(type)) {
    const { spec } = props as { spec?: { listeners?: readonly { hostname?: string }[] } };
    return (spec?.listeners ?? []).map(({ hostname }) => hostname);
  }
  if (isRoute(type)) {
    const { spec } = props as { spec?: { hostnames?: readonly string[] } };
    const hosts = spec?.hostnames ?? [];
    return hosts.length === 0 ? [undefined] : hosts;
  }
  return [];
}
