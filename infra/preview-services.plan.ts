import { serviceRangeSpec } from '../constructs/port-range-manifests.ts';
import { userNames } from './access.ts';
import { policyMetadata } from './expressions.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** The ports that the previews of the stack may lead to. */
export function portRange({ namespaces, preview }: StackConfig) {
  const { allowedPortMin, allowedPortMax, upstream } = preview;
  return { namespace: namespaces.previews, minPort: allowedPortMin, maxPort: allowedPortMax, upstream };
}

/** Admission policy for previews' Services. */
export function previewServicesPlan(config: StackConfig) {
  const { namespaces } = config;
  return {
    metadata: policyMetadata(namespaces, 'preview-services'),
    spec: serviceRangeSpec({ ...portRange(config), accounts: userNames(namespaces.functions) }),
  };
}
