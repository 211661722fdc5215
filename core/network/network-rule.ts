import { getPublicSuffix } from 'tldts';
import { readHost } from './network-host.ts';
import type { NetworkRule } from './network-policy.ts';

/** An entry of `allow` or `deny` in a request. */
export type RuleInput = string | NetworkRule;

/** @returns the rule, or a message if the entry is invalid */
export function readRule(input: RuleInput, list: 'allow' | 'deny'): NetworkRule | string {
  const given: NetworkRule | undefined = typeof input === 'string' ? splitEntry(input) : input;
  if (given === undefined) return `${JSON.stringify(input)}: write host, *.host or host:port`;
  const { methods, paths } = given;
  const ports = given.ports?.length === 0 ? undefined : given.ports;
  if (ports?.some((port) => !Number.isInteger(port) || port < 1 || port > 65_535) === true) {
    return `${given.host}: a port is a whole number from 1 to 65535`;
  }
  const host = readPattern(given.host, list);
  if ('problem' in host) return `${JSON.stringify(given.host)}: ${host.problem}`;
  const badPath = paths?.find((path) => !/^\/[\w\-./~!$&'()*+,=:@]*$/.test(path) || path.includes('..'));
  if (badPath !== undefined) return `${given.host}: ${JSON.stringify(badPath)} is not a plain path`;
  return {
    host: host.pattern,
    ...(ports !== undefined && { ports: [...new Set(ports)] }),
    ...(methods !== undefined &&
      methods.length > 0 && { methods: methods.map((each) => each.toUpperCase()) }),
    ...(paths !== undefined && paths.length > 0 && { paths: [...paths] }),
  };
}

function splitEntry(text: string): NetworkRule | undefined {
  const [, host, ports] =
    /^([^\s:/]+|\[[^\]\s]*\]|[\da-f]*:[\da-f:.]*)(?::(\d{1,5}(?:,\d{1,5})*))?$/i.exec(text) ?? [];
  if (host === undefined) return undefined;
  return { host, ...(ports !== undefined && { ports: ports.split(',').map(Number) }) };
}

function readPattern(
  text: string,
  list: 'allow' | 'deny',
): { readonly pattern: string } | { readonly problem: string } {
  const isWildcard = text.startsWith('*.');
  const base = isWildcard ? text.slice(2) : text;
  if (text === '*' || base.includes('*')) {
    return {
      problem:
        'a * replaces the labels before a name, as in *.example.com. For every host use network: "open"',
    };
  }
  const host = readHost(base);
  if (host === undefined) return { problem: 'not a host name' };
  if (host.kind === 'address') {
    return {
      problem:
        'an address. Use a host name: addresses change, and PORTHOLE_NETWORK_PRIVATE_ALLOW opens private ones',
    };
  }
  const { name } = host;
  const isSuffix = getPublicSuffix(name, { allowPrivateDomains: true }) === name;
  if (list === 'allow' && isSuffix) {
    return { problem: 'a public suffix, or a name without a dot. Name the hosts' };
  }
  return { pattern: isWildcard ? `*.${name}` : name };
}
