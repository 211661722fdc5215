import { BlockList, isIPv4 } from 'node:net';
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

/**
 * Metadata addresses, where clouds serve a machine's credentials: those that the stack excepts by
 * `core/auth/address-range.ts`, which the pack does not have.
 */
const METADATA = [
  '169.254.0.0/16',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fe80::/10',
  'fd00:ec2::254/128',
];

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly object[];
}

interface Peer {
  readonly podSelector?: Selector | undefined;
  readonly namespaceSelector?: Selector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

/** Selects pods of the stack. */
const isOfStack = ({ podSelector }: Peer): boolean =>
  podSelector?.matchLabels?.['app.kubernetes.io/part-of'] === 'porthole';

export const networkRange: StackValidationPolicy = {
  name: 'network-range',
  description:
    'Sandboxes are let in to on exactly the ports that previews may expose, and by the stack alone to their guests; never from all addresses or namespaces. They are let out to named peers, without metadata addresses.',
  remediationSteps:
    'Set preview.allowedPortMin and preview.allowedPortMax; the program derives the network policy from them. Name the peers of any other rule, and put metadata addresses into except.',
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
          egress?: readonly { to?: readonly Peer[] }[];
        };
      };
      // The stack's own pods: no sandbox has this label.
      if (spec !== undefined && isOfStack(spec)) continue;
      for (const { to = [] } of spec?.egress ?? []) {
        if (to.length === 0) report('It lets out to every address.', urn);
        for (const { ipBlock } of to) {
          const reached = ipBlock === undefined ? [] : metadataOf(ipBlock);
          if (reached.length > 0) report(`It lets out to the metadata addresses ${reached.join(', ')}.`, urn);
        }
      }
      for (const { from = [], ports = [] } of spec?.ingress ?? []) {
        for (const { ipBlock, namespaceSelector } of from) {
          if (ipBlock?.cidr.endsWith('/0')) report(`It lets in from ${ipBlock.cidr}.`, urn);
          if (namespaceSelector !== undefined && isEmpty(namespaceSelector)) {
            report('It lets in from all namespaces.', urn);
          }
        }
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

/** Whether it selects everything. */
function isEmpty({ matchLabels = {}, matchExpressions = [] }: Selector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/** Metadata addresses that overlap the block, and that no entry of `except` contains. */
function metadataOf({ cidr, except = [] }: NonNullable<Peer['ipBlock']>): readonly string[] {
  return METADATA.filter(
    (range) =>
      (contains(cidr, range) || contains(range, cidr)) && !except.some((each) => contains(each, range)),
  );
}

/** Whether every address of `inner` is one of `outer`; both in CIDR notation. */
function contains(outer: string, inner: string): boolean {
  const [[outerBase, outerBits], [innerBase, innerBits]] = [partsOf(outer), partsOf(inner)];
  if (isIPv4(outerBase) !== isIPv4(innerBase) || innerBits < outerBits) return false;
  const family = isIPv4(outerBase) ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(outerBase, outerBits, family);
  return list.check(innerBase, family);
}

function partsOf(range: string): [base: string, bits: number] {
  const [base = '', bits = ''] = range.split('/');
  return [base, Number(bits)];
}
