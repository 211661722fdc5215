import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAgentAuthenticator } from '#adapters/auth/authenticators.ts';
import { isInCluster } from '#adapters/kubernetes/client/cluster-access.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import type { WakingClock } from '#core/shared/clock-and-ids.ts';
import { secretRedactor } from '#core/auth/redact-secrets.ts';
import type { CleaningReport } from '#core/editor/tool-snapshots.ts';
import {
  runLifecyclePass,
  type LifecycleReport,
  reap,
  cleanEditorSnapshots,
} from '#handlers/ops/scheduled.ts';
import { ROUTES } from '#handlers/routes.ts';
import type { Logger, Services } from '#handlers/services.ts';
import { createChannelServers } from './channel-servers.ts';
import { limitPeers } from './limit-peers.ts';
import { type Config, isOnOneMachine, secretsOf } from './config/config.ts';
import { createFront } from './front.ts';
import { createFunctionHost } from './function-host.ts';
import { isWildcard, knownHosts } from './known-hosts.ts';
import { createMetrics } from './metrics.ts';
import { openServices } from './open-services.ts';
import { every, type Schedule } from './schedule.ts';

/** A host that is up. */
export interface Host {
  /** Where the API is, e.g. `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly port: number;
  readonly services: Services;
  /** One line about the sandboxes, for a person at the terminal. */
  describe(): Promise<string>;
  /** Resolves once what the last host left undone has been finished. */
  readonly recovered: Promise<void>;
  /**
   * Does at once what is scheduled for every minute: stops what is idle, destroys what was stopped
   * for too long.
   */
  lifecycle(): Promise<LifecycleReport>;
  /**
   * Does at once what is scheduled for every ten minutes: removes the editor's expired snapshots.
   */
  cleanSnapshots(): Promise<CleaningReport>;
  /**
   * Ends gracefully: answers what was asked, loses no record, keeps files and URLs for the next
   * start.
   */
  close(): Promise<void>;
}

const REAP_SECONDS = 60;
/** How exactly idle sandboxes are stopped. */
const LIFECYCLE_SECONDS = 60;
/** How exactly snapshots are removed; they are of no use from their expiry on. */
const SNAPSHOTS_SECONDS = 600;

/**
 * Brings Porthole up on this machine: the functions, the preview gateway and the schedules, in one
 * process.
 */
export async function startHost(
  config: Config,
  log: Logger,
  clock: WakingClock = systemClock,
): Promise<Host> {
  // Whatever is open when a later step fails is closed again, the last one first.
  const opened = new AsyncDisposableStack();
  try {
    const metrics = createMetrics();
    const stopping = new AbortController();
    const open = await openServices({ config, log, clock, metrics, stopping: stopping.signal });
    opened.defer(() => open.close());
    const { services, platform, broker, folder } = open;
    const { gateway } = platform;

    const front = createFront({
      gateway,
      zone: config.preview.zoneSuffix,
      isKnownHost: knownHosts({
        listenHost: config.host,
        publicUrl: config.publicUrl,
        allowedHosts: config.allowedHosts,
      }),
      publicOrigin: config.publicUrl?.origin,
    });
    const app = createFunctionHost({
      routes: ROUTES,
      services,
      metrics,
      publicOrigin: config.publicUrl?.origin,
      redact: secretRedactor(secretsOf(config)),
      serve: (listener) => {
        front.serveApi(listener);
        return front.server;
      },
    });
    await app.ready();
    const port = await listen(front.server, config);
    platform.listening(port);
    const url = `http://${hostInUrl(config.host)}:${port}`;
    folder?.announce(url);
    // Together: the server counts the gateway's open WebSockets among its own connections.
    opened.defer(async () => {
      await Promise.all([drain(front.server, platform.drainMs), gateway?.close()]);
      await app.close();
    });

    const channels = createChannelServers({
      routes: ROUTES,
      services,
      agents: createAgentAuthenticator({ ...services, inside: true }),
      metrics,
      redact: secretRedactor(secretsOf(config)),
    });
    opened.defer(() => channels.close(platform.drainMs));
    // A channel is opened in each sandbox that runs, and whenever one starts.
    await platform.openChannels({
      calls: (id) => {
        open.watcher.watch(id);
        return channels.serverFor((sandboxId) => sandboxId === id);
      },
      network: (id) => broker.serverFor(id),
    });
    if (config.channel !== undefined) {
      const server = channels.serverFor(platform.isAtAddress);
      limitPeers(server);
      await listen(server, { host: config.host, port: config.channel.port });
      opened.defer(() => void server.close());
    }

    const recovered = platform.recover(stopping.signal).catch((error: unknown) => {
      if (!stopping.signal.aborted) log.error({ err: error }, 'recovery failed');
    });
    const schedules = isScheduledElsewhere(config)
      ? []
      : [
          every(REAP_SECONDS, 'reaper', log, (signal) => reap(services, signal)),
          every(LIFECYCLE_SECONDS, 'lifecycle', log, (signal) => runLifecyclePass(services, signal)),
          every(SNAPSHOTS_SECONDS, 'snapshots', log, (signal) => cleanEditorSnapshots(services, signal)),
          ...keepPool(config, services, recovered),
        ];
    opened.defer(async () => {
      stopping.abort();
      // The pool as well: a look that makes many sandboxes is not waited for to its end.
      await Promise.all([recovered, services.pool.close(), ...schedules.map((schedule) => schedule.stop())]);
    });

    const running = opened.move();
    return {
      url,
      port,
      services,
      recovered,
      lifecycle: () => runLifecyclePass(services, stopping.signal),
      cleanSnapshots: () => cleanEditorSnapshots(services, stopping.signal),
      describe: () => platform.describe(),
      close: () => running.disposeAsync(),
    };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

/**
 * Once recovery has brought back what the last host kept ready. Without a target that is removed,
 * and there is nothing more to do.
 */
function keepPool(
  { pool: { warmTarget, refreshInterval } }: Config,
  { pool, log }: Services,
  recovered: Promise<void>,
): Schedule[] {
  const primed = recovered.then(() => pool.prime());
  primed.catch((err: unknown) => log.error({ err }, 'warm pool not primed'));
  return warmTarget === 0 ? [] : [every(refreshInterval / 1_000, 'warm pool', log, () => pool.refresh())];
}

/**
 * In a cluster the CronJobs do it, for all replicas; but they see no records that lie in a file of
 * this one.
 */
function isScheduledElsewhere(config: Config): boolean {
  return !isOnOneMachine(config) && config.databaseUrl !== undefined && isInCluster();
}

/** What to put into a URL of this machine for an address to listen on. */
function hostInUrl(host: string): string {
  if (isWildcard(host)) return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

async function listen(server: Server, { host, port }: Pick<Config, 'host' | 'port'>): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Takes no more connections, and lets those that are open finish what they are about. */
async function drain(server: Server, withinMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const limit = setTimeout(() => server.closeAllConnections(), withinMs);
  await closed;
  clearTimeout(limit);
}
