import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAgentAuthenticator } from '#adapters/auth/authenticators.ts';
import { isInCluster } from '#adapters/kubernetes/client/cluster-access.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import type { WakingClock } from '#base/clock-and-ids.ts';
import { secretRedactor } from '#core/auth/redact-secrets.ts';
import { clientAddress, TrustedProxies } from '#proxy/client-address.ts';
import { openPort } from '#core/previews/open-port.ts';
import { zoneNames } from '#core/previews/preview-limits.ts';
import type { CleaningReport } from '#core/editor/tool-snapshots.ts';
import { cleanEditorSnapshots } from '#handlers/editor/clean-editor-snapshots.ts';
import { runLifecyclePass, type LifecycleReport, reap } from '#handlers/ops/scheduled.ts';
import type { Logger, Services } from '#handlers/services.ts';
import { createChannelServers } from './server/channel-servers.ts';
import { descriptorBudget, type DescriptorBudget, descriptorLimit } from './server/descriptor-budget.ts';
import { type ConnectionLimits, limitConnections } from './server/limit-connections.ts';
import { CALLS, limitPeers } from './server/limit-peers.ts';
import { openCertificate } from './server/certificate.ts';
import { type Config, secretsOf } from './config/config.ts';
import { isOnOneMachine } from '#protocol/settings/contradictions.ts';
import type { DataFolder } from './data-folder.ts';
import { createFront } from './server/front.ts';
import { createFunctionHost } from './server/function-host.ts';
import { HOST_ROUTES } from './server/host-routes.ts';
import { isWildcard, knownHosts } from './server/known-hosts.ts';
import { withPortOpenings } from './server/port-openings.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { startTelemetry } from './telemetry/start-telemetry.ts';
import { openServices, type OpenServices } from './open-services.ts';
import { servedRoutes } from './server/router.ts';

/** A running host. */
export interface Host {
  /** Base URL of the API, e.g. `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly port: number;
  readonly services: Services;
  /** One line about the sandboxes, for a person at the terminal. */
  describe(): Promise<string>;
  /** Resolves once the unfinished work of the last host is completed. */
  readonly recovered: Promise<void>;
  /**
   * Runs the pass that is scheduled every minute: stops idle sandboxes, destroys those stopped for
   * too long.
   */
  lifecycle(): Promise<LifecycleReport>;
  /** Runs the pass that is scheduled every ten minutes: removes the editor's expired snapshots. */
  cleanSnapshots(): Promise<CleaningReport>;
  /**
   * Graceful shutdown: completes running requests, loses no record, keeps files and URLs for the
   * next start.
   */
  close(): Promise<void>;
}

/** Once a minute, as in clusters (`infra/scheduled-jobs.ts`): `isFullPass` counts whole minutes. */
const REAP_SECONDS = 60;
/** Precision with which idle sandboxes are stopped. */
const LIFECYCLE_SECONDS = 60;
/** Precision with which snapshots are removed; they are unusable from their expiry on. */
const SNAPSHOTS_SECONDS = 600;

/**
 * Starts Porthole on this machine: the functions, the preview gateway and the schedules, in one
 * process.
 */
export async function startHost(
  config: Config,
  log: Logger,
  clock: WakingClock = systemClock,
): Promise<Host> {
  // Closes everything in reverse order if a later step fails.
  const opened = new AsyncDisposableStack();
  try {
    const startedAt = clock.now();
    const metrics = createMetrics();
    const telemetry = await startTelemetry(config.telemetry, log, metrics);
    opened.defer(() => telemetry?.close());
    const stopping = new AbortController();
    const open = await openServices({ config, log, clock, metrics, stopping: stopping.signal });
    opened.defer(() => open.close());
    const { services, platform, broker, folder } = open;
    const trustedProxies = new TrustedProxies(config.trustedProxies);
    const ports = config.featuresOff.has('e2b') ? undefined : platform.plane.ports;
    const e2bZone = ports && config.preview.zoneSuffix;
    const gateway =
      platform.gateway &&
      withPortOpenings(platform.gateway, {
        zone: e2bZone,
        isServed: (port) => ports?.isServed(port) === true,
        open: (port, token, req) =>
          openPort(services, port, { token, address: clientAddress(req, trustedProxies) }),
        log,
      });

    const certificate =
      config.tls === undefined
        ? undefined
        : openCertificate({ files: config.tls, hosts: publicHosts(config), log });
    opened.defer(() => certificate?.close());
    const routes = servedRoutes(HOST_ROUTES, config.featuresOff);
    const server = createFront({
      gateway,
      zones: zoneNames(config.preview),
      e2bZone,
      isKnownHost: knownHosts({
        listenHost: config.host,
        publicUrl: config.publicUrl,
        allowedHosts: config.allowedHosts,
      }),
      publicOrigin: config.publicUrl?.origin,
      certificate,
      api: createFunctionHost({
        routes,
        services,
        metrics,
        trustedProxies,
        publicOrigin: config.publicUrl?.origin,
        redact: secretRedactor(secretsOf(config)),
      }),
    });
    const descriptors = descriptorBudget(descriptorLimit());
    limitConnections(server, clientLimits(descriptors), log);
    const port = await listen(server, config);
    platform.listening(port);
    const url = `${config.tls === undefined ? 'http' : 'https'}://${hostInUrl(config.host)}:${port}`;
    announce(folder, url, log);
    // Together: the server counts the gateway's open WebSockets among its own connections.
    opened.defer(async () => {
      await Promise.all([drain(server, platform.drainMs), gateway?.close()]);
    });

    const channels = createChannelServers({
      routes,
      services,
      agents: createAgentAuthenticator({ ...services, inside: true }),
      metrics,
      redact: secretRedactor(secretsOf(config)),
    });
    opened.defer(() => channels.close(platform.drainMs));
    // Opens a channel in each running sandbox, and in each that starts later.
    await platform.openChannels({
      calls: (id) => {
        open.watcher.watch(id);
        return channels.serverFor((sandboxId) => sandboxId === id);
      },
      network: broker && ((id) => broker.serverFor(id)),
      failed: (id, err) => log.error({ err, sandbox_id: id }, 'channel of a sandbox not opened'),
      authority: async (id) => (await services.records.sandboxes.get(id))?.secrets.authority?.certificate,
    });
    if (config.channel !== undefined) {
      const server = channels.serverFor(platform.isAtAddress);
      limitPeers(server, { ...CALLS, mostInAll: Math.min(CALLS.mostInAll, descriptors.sandboxes) });
      await listen(server, { host: config.host, port: config.channel.port });
      opened.defer(() => void server.close());
    }

    services.webhooks.start();
    const recovered = recover(open, config, startedAt, stopping.signal).catch((error: unknown) => {
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
      // Includes the pool: a pass that creates many sandboxes is aborted, not awaited.
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

/** Finishes what the last host began. */
async function recover(
  { platform, services }: OpenServices,
  config: Config,
  startedAt: Date,
  signal: AbortSignal,
): Promise<void> {
  await platform.recover(signal);
  const { checkpoints } = services;
  // Elsewhere, another process may be making them.
  if (checkpoints === undefined || !isOnOneMachine(config)) return;
  const { collectCheckpoints } = await import('#core/checkpoints/collect-checkpoints.ts');
  await collectCheckpoints({ ...services, ...checkpoints }, startedAt);
}

/** On a full disk, other hosts that find the folder locked do not learn this one's address. */
function announce(folder: DataFolder | undefined, url: string, log: Logger): void {
  try {
    folder?.announce(url);
  } catch (err) {
    log.warn({ err }, 'the URL is not in the data folder');
  }
}

/**
 * Runs after recovery has found the last host's pool. Without a target the pool is removed, and no
 * schedule is needed.
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
 * In a cluster the CronJobs do it, for all replicas; but they cannot read records in a file of this
 * process.
 */
function isScheduledElsewhere(config: Config): boolean {
  return !isOnOneMachine(config) && config.databaseUrl !== undefined && isInCluster();
}

/** Half for one address: a proxy in front has all of its clients' connections. */
function clientLimits({ clients }: DescriptorBudget): ConnectionLimits {
  return { mostInAll: clients, mostOfAddress: Math.ceil(clients / 2) };
}

/** The host names by which people reach Porthole and a preview. */
function publicHosts({ publicUrl, preview }: Config): string[] {
  const previews = preview.enabled ? zoneNames(preview).map((zone) => `any-preview.${zone}`) : [];
  return [...(publicUrl === undefined ? [] : [publicUrl.hostname]), ...previews];
}

/** The host of a URL on this machine, for an address to listen on. */
function hostInUrl(host: string): string {
  if (isWildcard(host)) return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

async function listen(server: Server, { host, port }: Pick<Config, 'host' | 'port'>): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Stops accepting connections, and lets open ones complete their requests. */
async function drain(server: Server, withinMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const limit = setTimeout(() => server.closeAllConnections(), withinMs);
  await closed;
  clearTimeout(limit);
}

/** A task that runs repeatedly, never twice at once. */
interface Schedule {
  /** Stops; resolves once a running pass has ended. */
  stop(): Promise<void>;
}

/** Runs `pass` every `seconds`. A failure is logged, and the next pass runs as usual. */
function every(
  seconds: number,
  name: string,
  log: Logger,
  pass: (signal: AbortSignal) => Promise<unknown>,
): Schedule {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= pass(stopping.signal)
      .then(
        () => undefined,
        (error: unknown) => {
          if (!stopping.signal.aborted) log.error({ err: error, schedule: name }, 'scheduled pass failed');
        },
      )
      .finally(() => {
        running = undefined;
      });
  }, seconds * 1_000);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}
