/** Network policy of a sandbox: a pure decision over the policy, the presets and a destination. */
import type { AddressRefusal } from '#base/address-range.ts';
import { NETWORK_MODES, type NetworkMode } from '#protocol/settings/shared-values.ts';
import { hostText, type NetworkHost } from './network-host.ts';

export interface NetworkRule {
  /** A DNS name, or `*.` and a name: every name below it, not the name itself. */
  readonly host: string;
  /** @default 80 and 443 in `allow`, every port in `deny` */
  readonly ports?: readonly number[] | undefined;
  /**
   * For plain HTTP. A rule with methods or paths never allows a tunnel: its content is not visible.
   */
  readonly methods?: readonly string[] | undefined;
  /** Path prefixes for plain HTTP. */
  readonly paths?: readonly string[] | undefined;
}

/** Maximum entries of a list. */
export const MAX_RULES = 200;

export interface NetworkPolicy {
  readonly mode: NetworkMode;
  readonly allow: readonly NetworkRule[];
  readonly deny: readonly NetworkRule[];
  /** Whether to ask the owner about a host that no rule matches. */
  readonly ask: boolean;
}

export const NO_NETWORK: NetworkPolicy = { mode: 'off', allow: [], deny: [], ask: true };

/** A host of `packages`: plain HTTP is read-only. */
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

/** A refusal that no entry of `allow` changes. */
export type NetworkRefusal = AddressRefusal | 'deny list' | 'other host' | 'needs https';

export interface NetworkDecision {
  readonly kind: 'allow' | 'deny' | 'ask';
  /** The rule that decided, for the log and for the user who reads a refusal. */
  readonly rule: string;
  readonly refusal?: NetworkRefusal | undefined;
  /**
   * Whether the name may resolve to a private address, as a mirror's does.
   * @default false
   */
  readonly mayBePrivate?: boolean | undefined;
}

const WEB_PORTS: readonly number[] = [80, 443];
/** Methods that change nothing (RFC 9110 §9.2.1). */
export const READING: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** @param asks whether the owner can be asked */
export function decideNetwork(
  { mode, allow, deny, ask }: NetworkPolicy,
  presets: readonly PresetRule[],
  destination: Destination,
  asks: boolean,
): NetworkDecision {
  if (mode === 'off') return { kind: 'deny', rule: 'network: off' };
  const denied = deny.find((rule) => denies(rule, destination));
  if (denied !== undefined) {
    return { kind: 'deny', rule: `deny ${ruleText(denied)}`, refusal: 'deny list' };
  }
  const allowed = allow.find((rule) => allows(rule, destination));
  if (allowed !== undefined) return { kind: 'allow', rule: `allow ${ruleText(allowed)}` };
  if (mode === 'packages') {
    const reading = destination.http === undefined ? {} : { methods: READING };
    const found = presets.find((rule) => allows({ ...rule, ...reading }, destination));
    if (found !== undefined) return { kind: 'allow', rule: `preset ${found.preset}`, mayBePrivate: true };
  }
  if (mode === 'open') return { kind: 'allow', rule: 'network: open' };
  // A person cannot recognise an address, and rules match names only.
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

/** @param unclear the answer for an ambiguous path */
function matchesRequest(
  { methods, paths }: NetworkRule,
  { method, path }: { readonly method: string; readonly path: string },
  unclear: boolean,
): boolean {
  if (methods !== undefined && !methods.includes(method)) return false;
  if (paths === undefined) return true;
  // Servers disagree on `/a/../b`, `/a/..;/b`, `/%61` and on case: such a path is denied and never
  // allowed.
  const [asked = ''] = path.split('?', 1);
  if (/[%;\\]|\/\.{1,2}(\/|$)|\/\//.test(asked)) return unclear;
  const plain = unclear ? asked.toLowerCase() : asked;
  return paths
    .map((prefix) => (unclear ? prefix.toLowerCase() : prefix))
    .some((prefix) => plain === prefix || plain.startsWith(prefix.replace(/\/?$/, '/')));
}

/** The rule in user syntax: `host`, `host:443`. */
export function ruleText({ host, ports, methods, paths }: NetworkRule): string {
  const where = ports === undefined ? host : `${host}:${ports.join(',')}`;
  return [...(methods === undefined ? [] : [methods.join(',')]), where, ...(paths ?? [])].join(' ');
}

/**
 * Whether the policy stays within what an installation permits. An allow list exceeds `packages`.
 */
export function isWithin({ mode, allow }: NetworkPolicy, widest: NetworkMode): boolean {
  const rank = (each: NetworkMode): number => NETWORK_MODES.indexOf(each);
  return rank(mode) <= rank(widest) && (allow.length === 0 || rank(widest) >= rank('allowlist'));
}

/** `host:port`, for questions and logs. */
export function destinationText({ host, port }: Pick<Destination, 'host' | 'port'>): string {
  const text = hostText(host);
  return `${text.includes(':') ? `[${text}]` : text}:${port}`;
}
