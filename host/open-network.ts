import { createAuthority } from '#adapters/egress/sandbox-authority.ts';
import { NetworkBroker } from '#adapters/egress/network-broker.ts';
import type { Clock, WakingClock, Ids } from '#core/shared/clock-and-ids.ts';
import type { BlockedHost, NetworkAccess } from '#core/network/network.ts';
import type { Records } from '#core/shared/records.ts';
import { NO_SECRETS } from '#core/network/network-secrets.ts';
import { packageRules } from '#core/network/network-presets.ts';
import type { Guests } from '#core/processes/guest.ts';
import { askOwner } from '#core/network/ask-owner.ts';
import { type NetworkLog, networkLog, TOGETHER_REMOTE_MS } from '#core/network/network-log.ts';
import type { SandboxEventPublisher } from '#core/sandboxes/sandbox-event-publisher.ts';
import type { MachineTools } from '#adapters/egress/machine-tools.ts';
import type { Config } from './config/config.ts';
import type { Platform } from './platform.ts';

export interface OpenBrokerDeps {
  readonly records: Records;
  readonly publisher: SandboxEventPublisher;
  readonly clock: Clock & WakingClock;
  readonly ids: Ids;
  readonly guests: Guests;
  readonly stopping: AbortSignal;
  readonly tools: MachineTools;
  /**
   * Whether other processes serve the API: they change policies in the records, and read there
   * which hosts were blocked.
   */
  readonly isRemote: boolean;
}

export interface OpenBroker {
  readonly broker: NetworkBroker;
  readonly log: NetworkLog;
}

/** The broker of this process. */
export function openBroker(
  { network: { default: usual, widest, permitted, proxies } }: Pick<Config, 'network'>,
  { records, publisher, clock, ids, guests, stopping, tools, isRemote }: OpenBrokerDeps,
): OpenBroker {
  const log = networkLog({ publisher, clock, togetherMs: isRemote ? TOGETHER_REMOTE_MS : undefined });
  const broker = new NetworkBroker({
    presets: packageRules(tools.registries),
    certificates: tools.certificates,
    permitted,
    proxies,
    policyOf: async (id) => {
      const sandbox = await records.sandboxes.get(id);
      return sandbox?.observed === 'destroyed' ? undefined : sandbox?.network;
    },
    secretsOf: async (id) => (await records.sandboxes.get(id))?.secrets ?? NO_SECRETS,
    ask: askOwner({
      records,
      clock,
      ids,
      stopping,
      guests,
      options: { default: usual, widest },
    }),
    attempted(id, attempt) {
      log.attempted(id, attempt);
      return isRemote && attempt.decision === 'blocked' ? log.written() : undefined;
    },
    watchPolicy: isRemote ? (id, changed) => records.sandboxes.watchNetwork(id, changed) : undefined,
    hint,
  });
  return { broker, log };
}

function hint(sandboxId: string, { host, port }: BlockedHost): string {
  const entry = port === 80 || port === 443 ? host : `${host}:${port}`;
  return `Its owner can allow it: PATCH /v1/sandbox/${sandboxId} {"allow": ["${entry}"]}, which replaces the list.`;
}

/** Most blocked hosts that an answer names. */
const MOST_BLOCKED = 50;

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
    createAuthority,
    secretsChanged: (id: string) => platform.certificatesChanged(id),
    isBrokered: () => platform.brokersNetwork(),
    holdsSecrets: async () => own !== undefined && (await platform.brokersNetwork()),
    hint,
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
      const hosts = blocked.map(({ data: { host, port, rule } }) => ({
        host: String(host),
        port: Number(port),
        rule: String(rule),
      }));
      const byHost = new Map(hosts.toReversed().map((each) => [`${each.host}:${each.port}`, each]));
      return [...byHost.values()].slice(-MOST_BLOCKED);
    },
    settled: () => Promise.resolve(),
  };
}
