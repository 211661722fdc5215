import type { Api } from '../api/api.ts';

export type SandboxNetwork = Api['GET /v1/sandbox/{id}/network']['answer'];
export type NetworkAttempt = SandboxNetwork['attempts'][number];
type Lists = Pick<SandboxNetwork, 'network' | 'allow' | 'deny'>;
type Rule = SandboxNetwork['allow'][number];

/** Why a host is blocked that an entry of `allow` would permit: core/network has these texts. */
const UNLISTED = /^(not on the list|network: off|denied by the owner|no answer|too many |its run has ended)/;

/** A destination as an entry of a list. */
export function entryOf({ host, port }: Pick<NetworkAttempt, 'host' | 'port'>): string {
  return port === 80 || port === 443 ? host : `${host}:${port}`;
}

/** An entry in the syntax of people. */
export function ruleLabel(rule: Rule): string {
  if (typeof rule === 'string') return rule;
  const { host, ports, methods = [], paths = [] } = rule;
  return [methods.join(','), ports === undefined ? host : `${host}:${ports.join(',')}`, ...paths]
    .filter((part) => part !== '')
    .join(' ');
}

/**
 * The change that permits a blocked destination: it is added to `allow`, and removed from `deny`.
 * Undefined where that is not enough, or not needed any more.
 */
export function changeToAllow(
  { network, allow, deny }: Lists,
  { host, port, decision, rule }: Pick<NetworkAttempt, 'host' | 'port' | 'decision' | 'rule'>,
): Partial<Lists> | undefined {
  if (decision !== 'blocked') return undefined;
  const entry = entryOf({ host, port });
  const names = new Set([host, `${host}:${port}`]);
  const isDenied = deny.some((each) => typeof each === 'string' && names.has(each));
  const isListed = allow.some((each) => typeof each === 'string' && (each === entry || names.has(each)));
  if (isListed && !isDenied && network !== 'off') return undefined;
  if (!UNLISTED.test(rule) && rule !== `deny ${host}` && rule !== `deny ${host}:${port}`) return undefined;
  return {
    ...(network === 'off' && { network: 'allowlist' }),
    ...(!isListed && { allow: [...allow, entry] }),
    ...(isDenied && { deny: deny.filter((each) => typeof each !== 'string' || !names.has(each)) }),
  };
}

/** The change that takes an entry out of a list. */
export function changeToRemove(lists: Lists, list: 'allow' | 'deny', label: string): Partial<Lists> {
  return { [list]: lists[list].filter((each) => ruleLabel(each) !== label) };
}

const MODES: Readonly<Record<Lists['network'], string>> = {
  off: 'no network',
  packages: 'package registries',
  allowlist: 'allowed hosts',
  open: 'internet',
};

/** What a sandbox may reach, in a few words. */
export function networkWords({ network, allow, deny }: Lists): string {
  if (network === 'off') return MODES.off;
  const lists = [
    ...(allow.length === 0 ? [] : [`${hosts(allow.length)} allowed`]),
    ...(deny.length === 0 ? [] : [`${hosts(deny.length)} denied`]),
  ];
  return [MODES[network], ...lists].join(', ');
}

function hosts(count: number): string {
  return count === 1 ? '1 host' : `${count} hosts`;
}
