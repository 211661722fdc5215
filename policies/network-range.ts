import type { StackValidationPolicy } from '@pulumi/policy';
import { isNetworkPolicy } from './kinds.ts';
import { settingsOf } from './policy-settings.ts';

interface Port {
  readonly protocol?: string;
  readonly port?: number | string;
  readonly endPort?: number;
}

/** The guest's port for previews; open to the gateway if `preview.upstream` is `guest`. */
const GUEST_PORT = 2791;

/** The port on which only the stack's own pods call the guest. */
const GUEST_CALLS = 'TCP 2790 to 2790';

/** Selects pods of the stack. */
interface Peer {
  readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> } | undefined;
}

const isOfStack = ({ podSelector }: Peer): boolean =>
  podSelector?.matchLabels?.['app.kubernetes.io/part-of'] === 'porthole';

export const networkRange: StackValidationPolicy = {
  name: 'network-range',
  description:
    'Sandboxes are let in to on exactly the ports that previews may expose, and by the stack alone to their guests.',
  remediationSteps:
    'Set preview.allowedPortMin and preview.allowedPortMax; the program derives the network policy from them.',
  validateStack({ resources }, report) {
    const settings = settingsOf(resources);
    if (settings === undefined) return;
    const wanted = [
      `TCP ${settings['Sandbox__Preview__AllowedPortMin']} to ${settings['Sandbox__Preview__AllowedPortMax']}`,
      ...(settings['Sandbox__Preview__Upstream'] === 'guest' ? [`TCP ${GUEST_PORT} to ${GUEST_PORT}`] : []),
    ].join(', ');
    let found = false;
    for (const { type, props, urn } of resources) {
      if (!isNetworkPolicy(type)) continue;
      const { spec } = props as {
        spec?: {
          podSelector?: Peer['podSelector'];
          ingress?: readonly { from?: readonly Peer[]; ports?: readonly Port[] }[];
        };
      };
      // The stack's own pods: no sandbox has this label.
      if (spec !== undefined && isOfStack(spec)) continue;
      for (const { from = [], ports = [] } of spec?.ingress ?? []) {
        const range = ports.map(
          (each) => `${each.protocol ?? 'TCP'} ${each.port} to ${each.endPort ?? each.port}`,
        );
        if (range.join(', ') === GUEST_CALLS && from.length > 0 && from.every(isOfStack)) continue;
        found = true;
        if (range.join(', ') !== wanted) {
          report(`It lets in ${range.join(', ') || 'every port'}; previews may expose ${wanted}.`, urn);
        }
        if (from.length === 0) report('It lets everybody in.', urn);
      }
    }
    if (!found) report(`No network policy lets the gateway in to ${wanted}.`);
  },
};
