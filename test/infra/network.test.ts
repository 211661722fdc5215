import { STACK_LABELS } from '../../infra/labels.ts';
import { describe, expect, test } from '@jest/globals';
import { contains, exceptionsOf, reachesMetadataOnly } from '#base/address-range.ts';
import {
  brokerPlan,
  channelPlan,
  closedPlan,
  egressPlan,
  fromGatewayPlan,
  toGuestPlan,
  functionsPlan,
  internetPlan,
  toBrokerPlan,
  callsPlan,
} from '../../infra/network.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { stackFile, values } from './support/stack-files.ts';

const config = (more: Readonly<Record<string, unknown>> = {}) =>
  readStackConfig(values(stackFile(more)), () => true);

interface Range {
  readonly ipBlock: { readonly cidr: string; readonly except?: readonly string[] };
}

describe('a range that sandboxes may reach', () => {
  test.each([
    ['10.0.0.0/8', '10.1.2.0/24', true],
    ['10.0.0.0/8', '11.0.0.0/24', false],
    ['10.1.2.0/24', '10.0.0.0/8', false],
    ['::/0', 'fd00:ec2::254/128', true],
    ['0.0.0.0/0', '::/0', false],
  ])('%s and %s: the second lies within the first is %s', (outer, inner, within) => {
    expect(contains(outer, inner)).toBe(within);
  });

  test('leaves out private addresses and metadata when it is the whole internet', () => {
    expect(exceptionsOf('0.0.0.0/0')).toEqual([
      '169.254.0.0/16',
      '168.63.129.16/32',
      '0.0.0.0/8',
      '10.0.0.0/8',
      '100.64.0.0/10',
      '127.0.0.0/8',
      '172.16.0.0/12',
      '192.0.0.0/24',
      '192.0.2.0/24',
      '192.168.0.0/16',
      '198.18.0.0/15',
      '198.51.100.0/24',
      '203.0.113.0/24',
      '224.0.0.0/4',
      '240.0.0.0/4',
    ]);
    expect(exceptionsOf('::/0')).toEqual([
      'fe80::/10',
      '::/127',
      '::ffff:0:0/96',
      '64:ff9b::/96',
      '64:ff9b:1::/48',
      '100::/64',
      '2001:db8::/32',
      '2002::/16',
      'fc00::/7',
      'fec0::/10',
      'ff00::/8',
    ]);
  });

  test('leaves out only metadata when it was named although it is private', () => {
    expect(exceptionsOf('10.20.0.0/16')).toEqual([]);
    expect(exceptionsOf('10.0.0.0/8')).toEqual([]);
    expect(exceptionsOf('100.64.0.0/10')).toEqual(['100.100.100.200/32']);
    expect(exceptionsOf('fc00::/7')).toEqual(['fd00:ec2::254/128']);
  });

  test('is recognized when it covers only metadata', () => {
    expect(reachesMetadataOnly('169.254.169.254/32')).toBe(true);
    expect(reachesMetadataOnly('fd00:ec2::254/128')).toBe(true);
    expect(reachesMetadataOnly('169.0.0.0/8')).toBe(false);
  });
});

describe('the network of sandboxes', () => {
  test('is closed both ways for every pod that is a sandbox', () => {
    expect(closedPlan(config()).spec).toEqual({
      podSelector: { matchLabels: { 'porthole.sandbox.users.io/role': 'sandbox' } },
      policyTypes: ['Ingress', 'Egress'],
    });
  });

  test("lets the gateway's pods in, on the configured range alone", () => {
    const { spec } = fromGatewayPlan(
      config({ 'porthole:preview': { upstream: 'direct', allowedPortMin: 4000, allowedPortMax: 4999 } }),
    );
    expect(spec).toEqual({
      podSelector: { matchLabels: { 'porthole.sandbox.users.io/role': 'sandbox' } },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'traefik' } },
              podSelector: { matchLabels: { app: 'traefik' } },
            },
          ],
          ports: [{ protocol: 'TCP', port: 4000, endPort: 4999 }],
        },
      ],
    });
  });

  test("lets the gateway's pods in to the guest's port, too, where it serves previews", () => {
    const { spec } = fromGatewayPlan(config());
    expect(spec).toMatchObject({
      ingress: [
        {
          ports: [
            { protocol: 'TCP', port: 3000, endPort: 9000 },
            { protocol: 'TCP', port: 2791 },
          ],
        },
      ],
    });
  });

  test("lets only the functions' pods connect to the guests", () => {
    expect(toGuestPlan(config()).spec).toEqual({
      podSelector: { matchLabels: { 'porthole.sandbox.users.io/role': 'sandbox' } },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': expect.any(String) } },
              podSelector: { matchLabels: STACK_LABELS },
            },
          ],
          ports: [{ protocol: 'TCP', port: 2790 }],
        },
      ],
    });
  });

  test("lets sandboxes out to the functions' own pods, on the channel's port alone", () => {
    expect(channelPlan(config())?.spec).toEqual({
      podSelector: { matchLabels: { 'porthole.sandbox.users.io/role': 'sandbox' } },
      policyTypes: ['Egress'],
      egress: [
        {
          to: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'porthole' } },
              podSelector: {
                matchLabels: {
                  'app.kubernetes.io/part-of': 'porthole',
                  'app.kubernetes.io/name': 'porthole',
                  'app.kubernetes.io/component': 'functions',
                },
              },
            },
          ],
          ports: [{ protocol: 'TCP', port: 8788 }],
        },
      ],
    });
    expect(
      channelPlan(config({ 'porthole:sandboxes': { image: 'sandbox', channel: false } })),
    ).toBeUndefined();
  });

  test('lets sandboxes that were made with a network out to the internet and the DNS, and nowhere private', () => {
    const { podSelector, policyTypes, egress = [] } = internetPlan(config())?.spec ?? {};
    expect([podSelector, policyTypes]).toEqual([
      {
        matchLabels: {
          'porthole.sandbox.users.io/role': 'sandbox',
          'porthole.sandbox.users.io/network': 'internet',
        },
      },
      ['Egress'],
    ]);
    const [internet, dns] = egress;
    expect(internet).toEqual({
      to: ['0.0.0.0/0', '::/0'].map((cidr) => ({
        // API servers reject IPv4-mapped ranges.
        ipBlock: { cidr, except: exceptionsOf(cidr).filter((range) => range !== '::ffff:0:0/96') },
      })),
    });
    expect(dns).toEqual({
      to: [
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
          podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
        },
      ],
      ports: [
        { protocol: 'UDP', port: 53 },
        { protocol: 'TCP', port: 53 },
      ],
    });
  });

  test('lets sandboxes reach the broker alone, and the broker no cluster but its ranges', () => {
    const brokered = config({ 'porthole:broker': { egress: ['10.9.0.0/24'] } });
    expect(internetPlan(brokered)).toBeUndefined();
    const component = {
      'app.kubernetes.io/part-of': 'porthole',
      'app.kubernetes.io/name': 'porthole',
      'app.kubernetes.io/component': 'broker',
    };
    const port = { protocol: 'TCP', port: 8789 };
    expect(toBrokerPlan(brokered)?.spec).toEqual({
      podSelector: { matchLabels: { 'porthole.sandbox.users.io/role': 'sandbox' } },
      policyTypes: ['Egress'],
      egress: [
        {
          to: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'porthole' } },
              podSelector: { matchLabels: component },
            },
          ],
          ports: [port],
        },
      ],
    });
    const sandboxes = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'agentweaver' } },
      podSelector: { matchLabels: { 'porthole.sandbox.users.io/role': 'sandbox' } },
    };
    const plan = brokerPlan(brokered);
    if (plan === undefined) throw new Error('no policy');
    const { podSelector, policyTypes, ingress } = plan.spec;
    const egress: readonly { readonly to: readonly object[] }[] = plan.spec.egress;
    expect([podSelector, policyTypes]).toEqual([{ matchLabels: component }, ['Ingress', 'Egress']]);
    expect(ingress).toEqual([{ from: [sandboxes], ports: [port] }]);
    const ranges = egress.flatMap(({ to }) => to).filter((peer): peer is Range => 'ipBlock' in peer);
    const reaches = (address: string) =>
      ranges.some(
        ({ ipBlock: { cidr, except = [] } }) =>
          contains(cidr, address) && !except.some((each) => contains(each, address)),
      );
    expect(reaches('93.184.215.14/32')).toBe(true);
    expect(reaches('10.9.0.7/32')).toBe(true);
    for (const address of ['10.0.0.1/32', '169.254.169.254/32', '192.168.1.1/32', 'fd00:ec2::254/128']) {
      expect([address, reaches(address)]).toEqual([address, false]);
    }
    expect(egress.at(-1)).toEqual({ to: [sandboxes], ports: [{ protocol: 'TCP', port: 2790 }] });
    expect([toBrokerPlan(config()), brokerPlan(config())]).toEqual([undefined, undefined]);
  });

  test('lets nothing else out unless the stack says where to', () => {
    expect(egressPlan(config())).toBeUndefined();
    const open = egressPlan(
      config({ 'porthole:sandboxes': { image: 'sandbox', egress: ['203.0.113.0/24'] } }),
    );
    expect(open?.spec.egress[0]?.to).toEqual([{ ipBlock: { cidr: '203.0.113.0/24' } }]);
  });
});

describe("the network of the stack's own pods", () => {
  const from = (namespace: string, matchLabels?: object) => ({
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    ...(matchLabels && { podSelector: { matchLabels } }),
  });
  const api = { protocol: 'TCP', port: 8787 };

  test("lets the gateway's pods in to the API, sandboxes to their channel, and no one else", () => {
    const { metadata, spec } = functionsPlan(config());
    expect(metadata).toMatchObject({ name: 'porthole-functions', namespace: 'porthole' });
    expect(spec).toEqual({
      podSelector: {
        matchLabels: {
          'app.kubernetes.io/part-of': 'porthole',
          'app.kubernetes.io/name': 'porthole',
          'app.kubernetes.io/component': 'functions',
        },
      },
      policyTypes: ['Ingress'],
      ingress: [
        { from: [from('traefik', { app: 'traefik' })], ports: [api] },
        {
          from: [from('agentweaver', { 'porthole.sandbox.users.io/role': 'sandbox' })],
          ports: [{ protocol: 'TCP', port: 8788 }],
        },
      ],
    });
  });

  test('lets the functions and the jobs out to what they call, and lets nothing in to the jobs', () => {
    const plan = callsPlan(config({ 'porthole:functions': { image: 'x', egressPorts: [443, 5_432] } })).spec;
    expect(plan.podSelector.matchExpressions).toEqual([
      {
        key: 'app.kubernetes.io/component',
        operator: 'In',
        values: ['functions', 'reaper', 'lifecycle', 'snapshots-clean', 'warm-pool'],
      },
    ]);
    expect([plan.policyTypes, 'ingress' in plan]).toEqual([['Ingress', 'Egress'], false]);
    const [dns, ...rest] = plan.egress;
    expect(dns).toMatchObject({ ports: [{ port: 53 }, { port: 53 }] });
    expect(rest).toEqual([
      {
        to: [from('agentweaver', { 'porthole.sandbox.users.io/role': 'sandbox' })],
        ports: [
          { protocol: 'TCP', port: 2790 },
          { protocol: 'TCP', port: 2791 },
        ],
      },
      {
        to: [from('traefik', { app: 'traefik' })],
        ports: [
          { protocol: 'TCP', port: 443 },
          { protocol: 'TCP', port: 10_443 },
        ],
      },
      {
        ports: [
          { protocol: 'TCP', port: 443 },
          { protocol: 'TCP', port: 5_432 },
        ],
      },
    ]);
  });

  test('lets sandboxes in nowhere without the channel', () => {
    const { ingress } = functionsPlan(config({ 'porthole:sandboxes': { image: 'x', channel: false } })).spec;
    expect(ingress).toHaveLength(1);
  });

  test('lets those in to the API that functions.allowFrom names', () => {
    const allowFrom = [{ namespace: 'monitoring', podLabels: { app: 'prometheus' } }, { namespace: 'tools' }];
    const { ingress } = functionsPlan(config({ 'porthole:functions': { image: 'x', allowFrom } })).spec;
    expect(ingress[0]).toEqual({
      from: [from('traefik', { app: 'traefik' }), from('monitoring', { app: 'prometheus' }), from('tools')],
      ports: [api],
    });
  });
});
