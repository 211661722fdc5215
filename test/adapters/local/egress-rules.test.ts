import { expect, test } from '@jest/globals';
import { egressRules } from '#adapters/local/egress/egress-rules.ts';

const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /accept|reject|policy/.test(line));
const PRIVATE =
  '{ 169.254.0.0/16, 168.63.129.16/32, 0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 172.16.0.0/12, 192.0.0.0/24, 192.0.2.0/24, 192.168.0.0/16, 198.18.0.0/15, 198.51.100.0/24, 203.0.113.0/24, 224.0.0.0/4, 240.0.0.0/4 }';

test('what is private or the machine’s own is refused before anything is let out', () => {
  const own = ['127.0.0.1', '10.1.2.3', '5.6.7.8', '5.6.7.8', 'fe80::1'];
  expect(lines(egressRules({ carrier: 'pasta', own, neighbours: [], alsoReachable: [] }))).toEqual([
    'type filter hook output priority 0; policy drop;',
    'oifname "lo" accept',
    'ip daddr 10.0.2.3 udp dport 53 accept',
    'meta l4proto tcp ip daddr { 5.6.7.8/32 } reject with tcp reset',
    'ip daddr { 5.6.7.8/32 } reject with icmpx admin-prohibited',
    `meta l4proto tcp ip daddr ${PRIVATE} reject with tcp reset`,
    `ip daddr ${PRIVATE} reject with icmpx admin-prohibited`,
    'meta nfproto ipv4 oifname "tap0" accept',
  ]);
});

test('a private range that was named is let through, but for the machine’s own addresses in it', () => {
  expect(
    lines(
      egressRules({
        carrier: 'pasta',
        own: ['10.1.2.3'],
        neighbours: [],
        alsoReachable: ['10.1.0.0/16', 'fd00::/8'],
      }),
    ),
  ).toEqual([
    'type filter hook output priority 0; policy drop;',
    'oifname "lo" accept',
    'ip daddr 10.0.2.3 udp dport 53 accept',
    'meta l4proto tcp ip daddr { 10.1.2.3/32 } reject with tcp reset',
    'ip daddr { 10.1.2.3/32 } reject with icmpx admin-prohibited',
    'ip daddr { 10.1.0.0/16 } accept',
    `meta l4proto tcp ip daddr ${PRIVATE} reject with tcp reset`,
    `ip daddr ${PRIVATE} reject with icmpx admin-prohibited`,
    'meta nfproto ipv4 oifname "tap0" accept',
  ]);
});

test('the machine’s public neighbours are refused as what is private is, unless they were named', () => {
  const neighbours = ['5.6.7.0/24', '10.1.2.0/24', '5.6.7.0/24', 'fd00::/64', '5.6.0.0/16'];
  const rules = lines(egressRules({ carrier: 'pasta', own: [], neighbours, alsoReachable: ['5.6.7.9/32'] }));
  expect(rules.slice(3)).toEqual([
    'ip daddr { 5.6.7.9/32 } accept',
    `meta l4proto tcp ip daddr ${PRIVATE} reject with tcp reset`,
    `ip daddr ${PRIVATE} reject with icmpx admin-prohibited`,
    'meta l4proto tcp ip daddr { 5.6.7.0/24 } reject with tcp reset',
    'ip daddr { 5.6.7.0/24 } reject with icmpx admin-prohibited',
    'meta l4proto tcp ip daddr { 5.6.0.0/16 } reject with tcp reset',
    'ip daddr { 5.6.0.0/16 } reject with icmpx admin-prohibited',
    'meta nfproto ipv4 oifname "tap0" accept',
  ]);
});

test('questions to the name server go by TCP as well where the carrier answers them', () => {
  const rules = lines(egressRules({ carrier: 'slirp4netns', own: [], neighbours: [], alsoReachable: [] }));
  expect(rules.slice(2, 4)).toEqual([
    'ip daddr 10.0.2.3 udp dport 53 accept',
    'ip daddr 10.0.2.3 tcp dport 53 accept',
  ]);
});
