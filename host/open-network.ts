import { isIP } from 'node:net';
import { addressRefusal } from '#base/address-range.ts';
import type { BlockedHost, NetworkAccess } from '#core/network/network.ts';
import type { NetworkRefusal } from '#core/network/network-policy.ts';
import { packageRules } from '#core/network/network-presets.ts';
import type { Config } from './config/config.ts';
import type { OpenBroker, OpenBrokerDeps } from './open-broker.ts';
import type { Platform } from './platforms/platform.ts';

const REFUSED: Readonly<Record<NetworkRefusal, (sandboxId: string, host: string) => string>> = {
  'metadata address': () =>
    'Sandboxes never reach metadata addresses: they give out credentials of the machine.',
  'reserved address': () => 'Sandboxes never reach loopback and reserved addresses.',
  'private address': () =>
    'Private addresses are refused, unless an administrator permits their range with PORTHOLE_NETWORK_PRIVATE_ALLOW.',
  'deny list': (sandboxId) =>
    `The deny list of the sandbox names it, whatever allow has. Its owner can change that: PATCH /v1/sandbox/${sandboxId} {"deny": [the other entries]}, which replaces the list.`,
  'other host': () => 'What is sent there names another host: connect to that one.',
  'needs https': (_, host) => `Use https://${host}.`,
};

/** What can be done about a blocked host, or why nothing can. */
export function allowHint(sandboxId: string, { host, port, refusal }: BlockedHost): string {
  const isAddress = isIP(host) !== 0;
  const why = isAddress ? addressRefusal(host, [], false) : refusal;
  // Another process, perhaps of another version, may have written it.
  if (why !== undefined && why in REFUSED) return REFUSED[why](sandboxId, host);
  if (isAddress) return 'The list allow takes names of hosts, not addresses: connect to the name.';
  const entry = port === 80 || port === 443 ? host : `${host}:${port}`;
  return `Its owner can allow it: PATCH /v1/sandbox/${sandboxId} {"allow": ["${entry}"]}, which replaces the list.`;
}

/** Most blocked hosts that an answer names. */
const MAX_BLOCKED = 50;

/**
 * The network of sandboxes, for the functions.
 * @param own the broker of this process; undefined where another process is the broker, or none
 */
export function openNetwork(
  { network: { default: usual, widest } }: Pick<Config, 'network'>,
  {
    records,
    tools,
    platform,
  }: Pick<OpenBrokerDeps, 'records' | 'tools'> & {
    readonly platform: Pick<Platform, 'brokersNetwork' | 'certificatesChanged'>;
  },
  own: OpenBroker | undefined,
): NetworkAccess {
  const common = {
    default: usual,
    widest,
    presets: packageRules(tools.registries),
    // Loaded on demand: only the first secret of a sandbox needs it.
    async createAuthority() {
      const { createAuthority } = await import('#adapters/egress/sandbox-authority.ts');
      return createAuthority();
    },
    secretsChanged: (id: string) => platform.certificatesChanged(id),
    isBrokered: () => platform.brokersNetwork(),
    hint: allowHint,
  };
  if (own !== undefined) {
    const { broker, log } = own;
    return {
      ...common,
      policyChanged: (id) => broker.policyChanged(id),
      blockedSince: (id, since) => Promise.resolve(log.blockedSince(id, since)),
      settled: () => log.settled(),
    };
  }
  return {
    ...common,
    // The broker watches the records.
    policyChanged: () => Promise.resolve(),
    async blockedSince(id, since) {
      if (!(await platform.brokersNetwork())) return [];
      const events = await records.sandboxEvents.since(id, 'network', since, 1_000);
      const blocked = events.filter(({ data }) => data['decision'] === 'blocked');
      const hosts = blocked.map(({ data: { host, port, rule, refusal } }) => ({
        host: String(host),
        port: Number(port),
        rule: String(rule),
        refusal: refusal as NetworkRefusal | undefined,
      }));
      const byHost = new Map(hosts.toReversed().map((each) => [`${each.host}:${each.port}`, each]));
      return [...byHost.values()].slice(-MAX_BLOCKED);
    },
    settled: () => Promise.resolve(),
  };
}
