import type { PolicyResource } from '@pulumi/policy';
import { isConfigMap } from './kinds.ts';

/** The functions' settings, from their ConfigMap: the source of truth for the configuration. */
export function settingsOf(
  resources: readonly PolicyResource[],
): Readonly<Record<string, string>> | undefined {
  for (const { type, props } of resources) {
    if (!isConfigMap(type)) continue;
    const { data } = props as { data?: Readonly<Record<string, string>> };
    if (data !== undefined && 'Sandbox__Preview__ZoneSuffix' in data) return data;
  }
  return undefined;
}
