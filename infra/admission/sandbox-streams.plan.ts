import { SANDBOX_NAME_PREFIX } from '../../constructs/names.ts';
import { warmPoolNames } from '../functions/sandbox-provider.plan.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { inPreviewsNamespace, isOurs, policyMetadata, quote } from './expressions.ts';

/**
 * Which pods the API server lets the functions run commands in, and dial. It knows no more of them here than their names: those of sandboxes begin with a word of
 * ours, or with the name of the warm pool that they come from.
 */
export function sandboxStreamsPlan({ namespaces, sandboxes }: Pick<StackConfig, 'namespaces' | 'sandboxes'>) {
  const prefixes = [SANDBOX_NAME_PREFIX, ...warmPoolNames(sandboxes).map((name) => `${name}-`)];
  return {
    metadata: policyMetadata(namespaces, 'sandbox-streams'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inPreviewsNamespace(namespaces, {
        apiGroups: [''],
        resources: ['pods/exec', 'pods/portforward'],
        operations: ['CONNECT'],
      }),
      matchConditions: [{ name: 'by-the-functions', expression: isOurs(namespaces) }],
      validations: [
        {
          expression: prefixes.map((prefix) => `request.name.startsWith(${quote(prefix)})`).join(' || '),
          message: 'foreign pod: the functions reach into no pod but a sandbox',
        },
      ],
    },
  };
}
