import { NetworkBroker } from '#adapters/egress/network-broker.ts';
import type { MachineTools } from '#adapters/egress/machine-tools.ts';
import type { Clock, WakingClock, Ids } from '#base/clock-and-ids.ts';
import type { Records } from '#core/records.ts';
import { NO_SECRETS } from '#core/network/network-secrets.ts';
import { packageRules } from '#core/network/network-presets.ts';
import type { Guests } from '#core/processes/guest.ts';
import { askOwner } from '#core/network/ask-owner.ts';
import { type NetworkLog, networkLog, TOGETHER_REMOTE_MS } from '#core/network/network-log.ts';
import type { SandboxEventPublisher } from '#core/sandboxes/sandbox-event-publisher.ts';
import type { TrafficCounter } from '#core/usage/traffic-counter.ts';
import type { Config } from './config/config.ts';
import { allowHint } from './open-network.ts';

export interface OpenBrokerDeps {
  readonly records: Records;
  readonly publisher: SandboxEventPublisher;
  readonly traffic: Pick<TrafficCounter, 'add'>;
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
  { records, publisher, traffic, clock, ids, guests, stopping, tools, isRemote }: OpenBrokerDeps,
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
      if (attempt.bytesOut > 0) traffic.add(id, { egressBytes: attempt.bytesOut });
      return isRemote && attempt.decision === 'blocked' ? log.written() : undefined;
    },
    watchPolicy: isRemote ? (id, changed) => records.sandboxes.watchNetwork(id, changed) : undefined,
    hint: allowHint,
  });
  return { broker, log };
}
