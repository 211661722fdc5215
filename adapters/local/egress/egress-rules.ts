import { isIPv4 } from 'node:net';
import type { Carrier } from './carriers.ts';
import { EGRESS } from './egress-network.ts';
import { contains, exceptionsOf } from '#core/rules/address-range.ts';

export interface EgressScope {
  /** What carries the packets: slirp4netns takes questions to the name server by TCP as well; pasta connects to a machine of that address. */
  readonly carrier: Carrier;
  /** The machine's own addresses: what connects there does so from the machine itself, past whatever guards it. */
  readonly own: readonly string[];
  /** The networks that the machine is in, in CIDR notation: its neighbours trust it, and whoever comes from it, more than the internet. */
  readonly neighbours: readonly string[];
  /** Ranges that are let through although they are private or the neighbours', in CIDR notation. */
  readonly alsoReachable: readonly string[];
}

/**
 * What leaves a sandbox with a network, as nftables takes it: packets to the internet by IPv4, questions to the name server, by TCP only where the carrier answers them, and what stays on its own loopback. Private
 * and metadata addresses and the machine's neighbours are refused at once; whatever is not named, IPv6 with it, is dropped.
 */
export function egressRules({ carrier, own, neighbours, alsoReachable }: EgressScope): string {
  const refused = exceptionsOf('0.0.0.0/0');
  const isRefused = (range: string) => refused.some((each) => contains(each, range));
  const machines = [...new Set(own.filter(isIPv4).map((address) => `${address}/32`))];
  const around = [...new Set(neighbours)].filter(
    (range) => isIPv4(range.split('/')[0] ?? '') && !isRefused(range),
  );
  const reachable = alsoReachable.filter((range) => isIPv4(range.split('/')[0] ?? ''));
  const rules = [
    'oifname "lo" accept',
    `ip daddr ${EGRESS.nameServer} udp dport 53 accept`,
    ...(carrier === 'slirp4netns' ? [`ip daddr ${EGRESS.nameServer} tcp dport 53 accept`] : []),
    ...refuse(
      machines.filter((each) => !isRefused(each) || reachable.some((range) => contains(range, each))),
    ),
    ...(reachable.length === 0 ? [] : [`ip daddr ${set(reachable)} accept`]),
    ...refuse(refused),
    // One by one: a set takes no ranges that overlap, as networks of two devices may.
    ...around.flatMap((range) => refuse([range])),
    `meta nfproto ipv4 oifname "${EGRESS.device}" accept`,
  ];
  // Both lines together replace one that is there, at once.
  return `table inet porthole
delete table inet porthole
table inet porthole {
  chain output {
    type filter hook output priority 0; policy drop;
${rules.map((rule) => `    ${rule}\n`).join('')}  }
}
`;
}

function refuse(ranges: readonly string[]): string[] {
  if (ranges.length === 0) return [];
  const to = `ip daddr ${set(ranges)}`;
  // A connection that is reset fails at once; the other answer is asked for again and again.
  return [`meta l4proto tcp ${to} reject with tcp reset`, `${to} reject with icmpx admin-prohibited`];
}

function set(ranges: readonly string[]): string {
  return `{ ${ranges.join(', ')} }`;
}
