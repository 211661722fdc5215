/** What a sandbox may reach: a pure decision over the policy, the presets and a destination. */
import { hostText, type NetworkHost } from './network-host.ts';

export const NETWORK_MODES = ['off', 'packages', 'allowlist', 'open'] as const;

/**
 * `off`: nothing. `packages`: package registries, and what is allowed. `allowlist`: what is
 * allowed. `open`: everything but private networks, and but what is denied.
 */
export type NetworkMode = (typeof NETWORK_MODES)[number];

export interface NetworkRule {
  /** A DNS name, or `*.` before one: every name below it, and not itself. */
  readonly host: string;
  /** @default 80 and 443 where the rule allows, every port where it denies */
  readonly ports?: readonly number[] | undefined;
  /**
   * Of plain HTTP. A rule with methods or paths never allows a tunnel, whose contents are not seen.
   */
  readonly methods?: readonly string[] | undefined;
  /** Prefixes of paths of plain HTTP. */
  readonly paths?: readonly string[] | undefined;
}

export interface NetworkPolicy {
  readonly mode: NetworkMode;
  readonly allow: readonly NetworkRule[];
  readonly deny: readonly NetworkRule[];
  /** Whether the owner is asked about a host that no rule names. */
  readonly ask: boolean;
}

export const NO_NETWORK: NetworkPolicy = { mode: 'off', allow: [], deny: [], ask: true };

/** A host of `packages`: plain HTTP may only read from it. */
export interface PresetRule {
  readonly preset: string;
  readonly host: string;
  readonly ports: readonly number[];
}

export interface Destination {
  readonly host: NetworkHost;
  readonly port: number;
  /** Undefined for a tunnel. */
  readonly http?: { readonly method: string; readonly path: string } | undefined;
}

export interface NetworkDecision {
  readonly kind: 'allow' | 'deny' | 'ask';
  /** What decided, for the log and for the person who reads a refusal. */
  readonly rule: string;
  /**
   * Whether the name may lead into the machine's own network, as a mirror's does. Default: it may
   * not.
   */
  readonly mayBePrivate?: boolean | undefined;
}

const WEB_PORTS: readonly number[] = [80, 443];
const READING: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** @param asks whether the owner can be asked */
export function decideNetwork(
  { mode, allow, deny, ask }: NetworkPolicy,
  presets: readonly PresetRule[],
  destination: Destination,
  asks: boolean,
): NetworkDecision {
  if (mode === 'off') return { kind: 'deny', rule: 'network: off' };
  const denied = deny.find((rule) => denies(rule, destination));
  if (denied !== undefined) return { kind: 'deny', rule: `deny ${ruleText(denied)}` };
  const allowed = allow.find((rule) => allows(rule, destination));
  if (allowed !== undefined) return { kind: 'allow', rule: `allow ${ruleText(allowed)}` };
  if (mode === 'packages') {
    const reading = destination.http === undefined ? {} : { methods: READING };
    const found = presets.find((rule) => allows({ ...rule, ...reading }, destination));
    if (found !== undefined) return { kind: 'allow', rule: `preset ${found.preset}`, mayBePrivate: true };
  }
  if (mode === 'open') return { kind: 'allow', rule: 'network: open' };
  // An address says nothing to the person who is asked, and no list can name one.
  if (destination.host.kind === 'address') return { kind: 'deny', rule: 'address without a name' };
  return ask && asks ? { kind: 'ask', rule: 'ask' } : { kind: 'deny', rule: 'not on the list' };
}

function allows(rule: NetworkRule, { host, port, http }: Destination): boolean {
  const { ports = WEB_PORTS, methods, paths } = rule;
  if (!matchesHost(rule.host, host) || !ports.includes(port)) return false;
  if (methods === undefined && paths === undefined) return true;
  return http !== undefined && matchesRequest(rule, http, false);
}

/** A tunnel may carry what the rule denies, so it is denied as well. */
function denies(rule: NetworkRule, { host, port, http }: Destination): boolean {
  if (!matchesHost(rule.host, host) || rule.ports?.includes(port) === false) return false;
  return http === undefined || matchesRequest(rule, http, true);
}

function matchesHost(pattern: string, host: NetworkHost): boolean {
  if (host.kind !== 'name') return false;
  return pattern.startsWith('*.') ? host.name.endsWith(pattern.slice(1)) : host.name === pattern;
}

/** @param unclear the answer for a path that can be read in several ways */
function matchesRequest(
  { methods, paths }: NetworkRule,
  { method, path }: { readonly method: string; readonly path: string },
  unclear: boolean,
): boolean {
  if (methods !== undefined && !methods.includes(method)) return false;
  if (paths === undefined) return true;
  // Servers read `/a/../b` and `/%61` in different ways: such a path is denied and never allowed.
  const [plain = ''] = path.split('?', 1);
  if (/%|\/\.{1,2}(\/|$)|\/\/|\\/.test(plain)) return unclear;
  return paths.some((prefix) => plain === prefix || plain.startsWith(prefix.replace(/\/?$/, '/')));
}

/** As a person writes it: `host`, `host:443`. */
export function ruleText({ host, ports, methods, paths }: NetworkRule): string {
  const where = ports === undefined ? host : `${host}:${ports.join(',')}`;
  return [...(methods === undefined ? [] : [methods.join(',')]), where, ...(paths ?? [])].join(' ');
}

/**
 * Whether the policy asks for no more than an installation permits. Entries and questions reach
 * beyond `packages`.
 */
export function isWithin({ mode, allow }: NetworkPolicy, widest: NetworkMode): boolean {
  const rank = (each: NetworkMode): number => NETWORK_MODES.indexOf(each);
  return rank(mode) <= rank(widest) && (allow.length === 0 || rank(widest) >= rank('allowlist'));
}

/** `host:port`, as a question and a log line name a destination. */
export function destinationText({ host, port }: Pick<Destination, 'host' | 'port'>): string {
  const text = hostText(host);
  return `${text.includes(':') ? `[${text}]` : text}:${port}`;
}
