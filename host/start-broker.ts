import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createBrokerTokens, createGuestKeys, deriveKeySet } from '#protocol/guest/key-set.ts';
import { createSealedTexts } from '#adapters/auth/sealed-texts.ts';
import { readMachineTools } from '#adapters/egress/machine-tools.ts';
import { readBrokerToken } from '#adapters/egress/proxy-front.ts';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { collection, PODS } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { openClusterStreams } from '#adapters/kubernetes/sandboxes/cluster-streams.ts';
import { PodGuests } from '#adapters/kubernetes/sandboxes/pod-guests.ts';
import { PodIdentities } from '#adapters/kubernetes/sandboxes/pod-identities.ts';
import { randomIds, systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { secretRedactor } from '#core/auth/redact-secrets.ts';
import { createSandboxEventPublisher } from '#core/sandboxes/sandbox-event-publisher.ts';
import { TrafficCounter } from '#core/usage/traffic-counter.ts';
import type { Logger } from '#handlers/services.ts';
import { type Config, secretsOf } from './config/config.ts';
import { ConfigError } from '#protocol/settings/read-environment.ts';
import { isOnOneMachine } from '#protocol/settings/contradictions.ts';
import { clusterAccess } from './platforms/kubernetes-platform.ts';
import { descriptorBudget, descriptorLimit } from './server/descriptor-budget.ts';
import { limitPeers } from './server/limit-peers.ts';
import { openBroker } from './open-broker.ts';
import { openRecords } from './open-services.ts';

/** Connections of one pod, and so of one sandbox; `mostInAll` of all pods. */
const LIMITS = { mostOpen: 500, mostASecond: 1_000, mostInAll: 20_000 } as const;

/** A running broker. */
export interface BrokerHost {
  readonly port: number;
  /** Accepts no more connections, and ends those that are open after `withinMs`. */
  close(withinMs?: number): Promise<void>;
}

/**
 * The broker of the sandboxes of a cluster: guests connect to it with a token, and it opens their
 * connections as their policies in the records allow. Without the records it opens none.
 * @throws ConfigError
 */
export async function startBroker(config: Config, log: Logger): Promise<BrokerHost> {
  const { broker: address, databaseUrl, signingKeys, preview, provider } = config;
  if (address === undefined || databaseUrl === undefined || signingKeys === undefined) {
    throw new ConfigError([
      'PORTHOLE_BROKER_URL, DATABASE_URL and PORTHOLE_SIGNING_KEYS: the broker needs all three, as the functions have them',
    ]);
  }
  if (isOnOneMachine(config)) {
    throw new ConfigError([`PORTHOLE_PROVIDER: with ${provider} the host itself is the broker`]);
  }
  const opened = new AsyncDisposableStack();
  try {
    const stopping = new AbortController();
    const keys = deriveKeySet(signingKeys);
    const tokens = createBrokerTokens(keys);
    const records = await openRecords(databaseUrl, () => Promise.reject(new Error('no data folder')), {
      log,
      seals: createSealedTexts(keys),
    });
    opened.defer(() => records.close());
    const publisher = createSandboxEventPublisher({
      records,
      clock: systemClock,
      redact: secretRedactor(secretsOf(config)),
      failed: (err) => log.warn({ err }, 'sandbox events not published'),
    });
    opened.defer(() => publisher.settled());
    const traffic = new TrafficCounter({
      usage: records.usage,
      clock: systemClock,
      failed: (err) => log.warn({ err }, 'traffic of sandboxes not recorded: the next write has it'),
    });
    opened.defer(() => traffic.close());
    const access = await clusterAccess();
    const client = createKubernetesClient({ access, now: () => systemClock.now() });
    opened.defer(() => client.close());
    const streams = openClusterStreams(access);
    opened.defer(() => streams.close());
    const collected = collection(PODS, preview.namespace);
    const guests = new PodGuests({ keys: createGuestKeys(keys), reach: 'address', streams, pods: collected });
    opened.defer(() => guests.close());
    const pods = new PodIdentities({
      client,
      pods: collected,
      guests,
      verify: (token) => tokens.verify(token),
    });
    const { broker, log: attempts } = openBroker(config, {
      records,
      publisher,
      traffic,
      clock: systemClock,
      ids: randomIds,
      guests: pods,
      stopping: stopping.signal,
      tools: readMachineTools({}),
      isRemote: true,
    });
    opened.defer(() => attempts.settled());

    const fronts = new Map<string, { readonly server: Server; open: number }>();
    const front = (sandboxId: string, socket: Socket): void => {
      const kept = fronts.get(sandboxId) ?? { server: broker.serverFor(sandboxId), open: 0 };
      fronts.set(sandboxId, kept);
      kept.open += 1;
      socket.once('close', () => {
        kept.open -= 1;
        if (kept.open === 0) fronts.delete(sandboxId);
      });
      kept.server.emit('connection', socket);
    };
    const admit = async (socket: Socket): Promise<void> => {
      const token = await readBrokerToken(socket);
      if (token === undefined) return void socket.destroy();
      const sandboxId = await pods.identify(token, socket.remoteAddress ?? '');
      if (sandboxId !== undefined) return front(sandboxId, socket);
      log.debug({ address: socket.remoteAddress }, 'connection refused: not the pod of its token');
      socket.end(REFUSED);
    };
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      if (socket.destroyed) return;
      sockets.add(socket.once('close', () => sockets.delete(socket)).on('error', () => {}));
      admit(socket).catch((err: unknown) => {
        log.warn({ err }, 'connection refused: its pod cannot be looked up');
        socket.destroy();
      });
    });
    const { sandboxes } = descriptorBudget(descriptorLimit());
    limitPeers(server, { ...LIMITS, mostInAll: Math.min(LIMITS.mostInAll, sandboxes) });
    server.listen(address.port);
    await once(server, 'listening');
    opened.defer(() => {
      stopping.abort();
      broker.close();
      for (const socket of sockets) socket.destroy();
    });
    const running = opened.move();
    return {
      port: (server.address() as AddressInfo).port,
      async close(withinMs = 0) {
        const ended = new Promise<void>((resolve) => server.close(() => resolve()));
        const late = new Promise<void>((resolve) => setTimeout(resolve, withinMs).unref());
        await Promise.race([ended, late]);
        await running.disposeAsync();
      },
    };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

const WHY =
  "Porthole's broker does not know this sandbox: its token is for another pod. Stop and resume the sandbox.\n";
const REFUSED = `HTTP/1.1 403 Blocked by Porthole\r\nContent-Type: text/plain\r\nContent-Length: ${WHY.length}\r\nConnection: close\r\n\r\n${WHY}`;
