import { describe, expect, test } from '@jest/globals';
import { readHost } from '#core/network/network-host.ts';
import {
  decideNetwork,
  isWithin,
  type NetworkPolicy,
  NO_NETWORK,
  type NetworkRule,
} from '#core/network/network-policy.ts';
import { packageRules } from '#core/network/network-presets.ts';
import { readRule } from '#core/network/network-rule.ts';
import { addressRefusal } from '#base/address-range.ts';

const PRESETS = packageRules([{ preset: 'npm', host: 'mirror.corp.test', port: 8443 }]);

function rules(list: 'allow' | 'deny', ...entries: Parameters<typeof readRule>[0][]): NetworkRule[] {
  return entries.map((entry) => {
    const rule = readRule(entry, list);
    if (typeof rule === 'string') throw new Error(rule);
    return rule;
  });
}

function policy(mode: NetworkPolicy['mode'], more: Partial<NetworkPolicy> = {}): NetworkPolicy {
  return { ...NO_NETWORK, mode, ask: false, ...more };
}

/** @param where `host:port`, or `GET host:port/path` */
function decide(given: NetworkPolicy, where: string, asks = false): string {
  const [, method, host = '', port, path] = /^(?:([A-Z]+) )?(.+?):(\d+)(\/.*)?$/.exec(where) ?? [];
  const read = readHost(host);
  if (read === undefined) throw new Error(`no host: ${host}`);
  const http = method === undefined ? undefined : { method, path: path ?? '/' };
  const { kind, rule } = decideNetwork(given, PRESETS, { host: read, port: Number(port), http }, asks);
  return `${kind}: ${rule}`;
}

describe('a network policy', () => {
  test.each([
    [policy('off', { allow: rules('allow', 'a.example.com') }), 'a.example.com:443', 'deny: network: off'],
    [policy('packages'), 'registry.npmjs.org:443', 'allow: preset npm'],
    [policy('packages'), 'GET deb.debian.org:80/debian/', 'allow: preset debian'],
    [policy('packages'), 'POST deb.debian.org:80/debian/', 'deny: not on the list'],
    [policy('packages'), 'registry.npmjs.org:22', 'deny: not on the list'],
    [policy('packages'), 'evil.registry.npmjs.org:443', 'deny: not on the list'],
    [policy('packages'), 'registry.npmjs.org.evil.test:443', 'deny: not on the list'],
    [policy('packages'), 'mirror.corp.test:8443', 'allow: preset npm (this machine)'],
    [policy('packages'), 'mirror.corp.test:443', 'deny: not on the list'],
    [policy('packages', { deny: rules('deny', 'pypi.org') }), 'pypi.org:443', 'deny: deny pypi.org'],
    [
      policy('packages', { allow: rules('allow', 'a.example.com') }),
      'A.Example.COM.:443',
      'allow: allow a.example.com',
    ],
    [policy('allowlist'), 'registry.npmjs.org:443', 'deny: not on the list'],
    [
      policy('allowlist', { allow: rules('allow', '*.example.com') }),
      'a.b.example.com:443',
      'allow: allow *.example.com',
    ],
    [
      policy('allowlist', { allow: rules('allow', '*.example.com') }),
      'example.com:443',
      'deny: not on the list',
    ],
    [
      policy('allowlist', { allow: rules('allow', '*.example.com') }),
      'badexample.com:443',
      'deny: not on the list',
    ],
    [
      policy('allowlist', { allow: rules('allow', 'a.example.com') }),
      'a.example.com:5432',
      'deny: not on the list',
    ],
    [
      policy('allowlist', { allow: rules('allow', 'a.example.com:5432') }),
      'a.example.com:5432',
      'allow: allow a.example.com:5432',
    ],
    [policy('open'), 'anything.example.com:22', 'allow: network: open'],
    [policy('open'), '1.1.1.1:443', 'allow: network: open'],
    [
      policy('open', { deny: rules('deny', '*.example.com:22') }),
      'a.example.com:22',
      'deny: deny *.example.com:22',
    ],
    [
      policy('open', { deny: rules('deny', '*.example.com:22') }),
      'a.example.com:443',
      'allow: network: open',
    ],
    [policy('allowlist'), '93.184.216.34:443', 'deny: address without a name'],
  ])('decides %j: %s → %s', (given, where, expected) => {
    expect(decide(given, where)).toBe(expected);
  });

  test('says where no entry of allow would help: a host of deny', () => {
    const given = policy('packages', { deny: rules('deny', 'pypi.org') });
    const refusalOf = (name: string) =>
      decideNetwork(given, PRESETS, { host: { kind: 'name', name }, port: 443 }, false).refusal;
    expect([refusalOf('pypi.org'), refusalOf('a.example.com')]).toEqual(['deny list', undefined]);
  });

  test('matches methods and paths of plain HTTP only, and never allows a tunnel by them', () => {
    const entry = { host: 'api.example.com', methods: ['get'], paths: ['/v1'] };
    const given = policy('allowlist', { allow: rules('allow', entry) });
    const outcome = (where: string) => decide(given, where).split(':')[0];
    expect(outcome('GET api.example.com:80/v1/users?x=%41')).toBe('allow');
    for (const where of [
      'POST api.example.com:80/v1/users',
      'GET api.example.com:80/v10',
      'GET api.example.com:80/v1/../v2',
      'GET api.example.com:80/v1/%2e%2e/v2',
      'GET api.example.com:80/v1//x',
      'GET api.example.com:80/v1/..;/v2',
      'GET api.example.com:80/v1/;x/v2',
      'GET api.example.com:80/V1/users',
      'api.example.com:443',
    ]) {
      expect([where, outcome(where)]).toEqual([where, 'deny']);
    }
    const denied = policy('open', { deny: rules('deny', entry) });
    expect(decide(denied, 'api.example.com:443')).toBe('deny: deny GET api.example.com /v1');
    for (const path of ['%761', 'V1', 'v1;a/users', 'v2/..;/v1']) {
      expect(decide(denied, `GET api.example.com:80/${path}`)).toBe('deny: deny GET api.example.com /v1');
    }
    expect(decide(denied, 'POST api.example.com:80/v1')).toBe('allow: network: open');
  });

  test('asks only if a decision is possible, and never for an address', () => {
    const given = policy('packages', { ask: true });
    expect(decide(given, 'api.example.com:443', true)).toBe('ask: ask');
    expect(decide(given, 'api.example.com:443', false)).toBe('deny: not on the list');
    expect(decide(policy('packages'), 'api.example.com:443', true)).toBe('deny: not on the list');
    expect(decide(given, '93.184.216.34:443', true)).toBe('deny: address without a name');
    expect(decide(policy('off', { ask: true }), 'api.example.com:443', true)).toBe('deny: network: off');
  });

  test.each([
    ['10.0.0.1', 'an address'],
    ['0x7f.1', 'an address'],
    ['2130706433', 'an address'],
    ['[::1]:443', 'an address'],
    ['fe80::1', 'an address'],
    ['*', 'a * replaces'],
    ['a.*.example.com', 'a * replaces'],
    ['*.com', 'a public suffix'],
    ['*.co.uk', 'a public suffix'],
    ['github.io', 'a public suffix'],
    ['localhost', 'a public suffix'],
    ['db', 'a public suffix'],
    ['a.example.com:0', 'a port is'],
    ['a.example.com:70000', 'a port is'],
    ['https://a.example.com', 'write host'],
    ['a b.example.com', 'write host'],
  ])('rejects the entry %s: %s', (entry, problem) => {
    expect(readRule(entry, 'allow')).toContain(problem);
  });

  test('denies public suffixes, and normalizes names to ASCII', () => {
    expect(readRule('*.zip', 'deny')).toEqual({ host: '*.zip' });
    expect(readRule('Bücher.example.com:8080,443', 'allow')).toEqual({
      host: 'xn--bcher-kva.example.com',
      ports: [8080, 443],
    });
  });

  test.each([
    ['packages', policy('packages'), true],
    ['packages', policy('packages', { allow: rules('allow', 'a.example.com') }), false],
    ['packages', policy('open'), false],
    ['allowlist', policy('packages', { allow: rules('allow', 'a.example.com') }), true],
    ['open', policy('open'), true],
  ] as const)('combines into the widest %s: %j → %s', (widest, given, expected) => {
    expect(isWithin(given, widest)).toBe(expected);
  });
});

describe('parseHost', () => {
  test.each([
    ['127.1', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['１２７.0.0.1', '127.0.0.1'],
    ['[::ffff:127.0.0.1]', '127.0.0.1'],
    ['::ffff:a9fe:a9fe', '169.254.169.254'],
    ['[0:0:0:0:0:0:0:1]', '::1'],
  ])('parses %s as address %s', (text, address) => {
    expect(readHost(text)).toEqual({ kind: 'address', address });
  });

  test.each([
    '',
    'a b',
    'a/b',
    'user@host.test',
    'host.test#x',
    'host.test?x',
    'a\\b',
    '%31%32%37.0.0.1',
    'fe80::1%eth0',
    '1.2.3.4.5',
    '256.1.1.1',
    `${'a'.repeat(64)}.test`,
    'a..test',
    'host\0.test',
    '-a.test',
  ])('rejects %j', (text) => {
    expect(readHost(text)).toBeUndefined();
  });
});

describe('an address', () => {
  test.each([
    ['93.184.216.34', [], false, undefined],
    ['10.1.2.3', [], false, 'private address'],
    ['10.1.2.3', [], true, undefined],
    ['10.1.2.3', ['10.1.0.0/16'], false, undefined],
    ['198.18.0.1', [], false, 'private address'],
    ['198.18.0.1', ['198.18.0.0/15'], false, undefined],
    ['100.64.0.1', [], false, 'private address'],
    ['127.0.0.1', [], true, 'reserved address'],
    ['0.0.0.0', [], true, 'reserved address'],
    ['::1', [], true, 'reserved address'],
    ['64:ff9b::a9fe:a9fe', [], true, 'reserved address'],
    ['::ffff:0:a00:1', [], true, 'reserved address'],
    ['2001:0:a00:1::1', [], true, 'reserved address'],
    ['fc00::1', [], false, 'private address'],
    ['169.254.169.254', ['0.0.0.0/0'], true, 'metadata address'],
    ['fe80::1', ['::/0'], true, 'metadata address'],
    ['fd00:ec2::254', ['::/0'], true, 'metadata address'],
    ['2606:4700::1111', [], false, undefined],
  ])('classifies %s, permitted %j, may be private %s: %s', (address, permitted, mayBePrivate, expected) => {
    expect(addressRefusal(address, permitted, mayBePrivate)).toBe(expected);
  });
});
