import { createAuthority } from '#adapters/egress/sandbox-authority.ts';
import { NetworkBroker } from '#adapters/egress/network-broker.ts';
import type { Clock, WakingClock, Ids } from '#core/shared/clock-and-ids.ts';
import type { NetworkAccess } from '#core/network/network.ts';
import type { Records } from '#core/shared/records.ts';
import { NO_SECRETS } from '#core/network/network-secrets.ts';
import { packageRules } from '#core/network/network-presets.ts';
import type { Guests } from '#core/processes/guest.ts';
import { askOwner } from '#core/network/ask-owner.ts';
import { networkLog } from '#core/network/network-log.ts';
import type { SandboxEventPublisher } from '#core/sandboxes/sandbox-event-publisher.ts';
import type { MachineTools } from '#adapters/egress/machine-tools.ts';
import type { Config } from './config/config.ts';
import type { Platform } from './platform.ts';

export interface OpenNetworkDeps {
  readonly records: Records;
  readonly publisher: SandboxEventPublisher;
  readonly clock: Clock & WakingClock;
  readonly ids: Ids;
  readonly guests: Guests;
  readonly stopping: AbortSignal;
  readonly tools: MachineTools;
  readonly platform: Pick<Platform, 'brokersNetwork' | 'certificatesChanged'>;
}

/** The broker of this process, and its services for the functions. Unreachable in a cluster. */
export function openNetwork(
  { network: { default: usual, widest, permitted, proxies } }: Pick<Config, 'network'>,
  { records, publisher, clock, ids, guests, stopping, tools, platform }: OpenNetworkDeps,
): { readonly access: NetworkAccess; readonly broker: NetworkBroker } {
  const options = { default: usual, widest };
  const log = networkLog({ publisher, clock });
  const hint: NetworkAccess['hint'] = (sandboxId, { host, port }) => {
    const entry = port === 80 || port === 443 ? host : `${host}:${port}`;
    return `Its owner can allow it: PATCH /v1/sandbox/${sandboxId} {"allow": ["${entry}"]}, which replaces the list.`;
  };
  const presets = packageRules(tools.registries);
  const broker = new NetworkBroker({
    presets,
    certificates: tools.certificates,
    permitted,
    proxies,
    policyOf: async (id) => {
      const sandbox = await records.sandboxes.get(id);
      return sandbox?.observed === 'destroyed' ? undefined : sandbox?.network;
    },
    secretsOf: async (id) => (await records.sandboxes.get(id))?.secrets ?? NO_SECRETS,
    ask: askOwner({ records, clock, ids, stopping, guests, options }),
    attempted: (id, attempt) => log.attempted(id, attempt),
    hint,
  });
  return {
    broker,
    access: {
      ...options,
      presets,
      createAuthority,
      secretsChanged: (id) => platform.certificatesChanged(id),
      isBrokered: () => platform.brokersNetwork(),
      policyChanged: (id) => broker.policyChanged(id),
      blockedSince: (id, since) => log.blockedSince(id, since),
      hint,
      settled: () => log.settled(),
    },
  };
}
