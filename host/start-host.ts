import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createAuthenticator } from '#adapters/auth/configured-authenticator.ts';
import { createStrictServer } from '#adapters/gateway/front/strict-server.ts';
import { openLocalPlane } from '#adapters/gateway/plane/local-plane.ts';
import { createLoopbackPlane } from '#adapters/gateway/plane/loopback-plane.ts';
import { deriveKeySet, loadOrCreateJwks } from '#adapters/keys/key-set.ts';
import { createSignedTokens } from '#adapters/keys/signed-tokens.ts';
import type { Isolation } from '#adapters/local/isolation.ts';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { randomIds } from '#adapters/system/random-ids.ts';
import { systemClock } from '#adapters/system/system-clock.ts';
import type { Clock } from '#core/ports/clock.ts';
import type { Records } from '#core/ports/records.ts';
import { parsePreviewHost } from '#core/rules/preview-token.ts';
import { openapiDocument } from '#handlers/docs/openapi-document.ts';
import { reap } from '#handlers/reaper.ts';
import { ROUTES } from '#handlers/routes.ts';
import type { Logger, Services } from '#handlers/services.ts';
import type { Config } from './config/config.ts';
import { openDataFolder } from './data-folder.ts';
import { createFunctionHost } from './function-host.ts';
import { knownHosts } from './known-hosts.ts';
import { createMetrics } from './metrics.ts';
import { createPreviewGateway } from './preview-gateway.ts';
import { recoverSandboxes } from './recover-sandboxes.ts';
import { refuse, refuseUpgrade } from './refuse.ts';
import { every } from './schedule.ts';

/** A host that is up. */
export interface Host {
  /** Where the API is, e.g. `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly port: number;
  readonly services: Services;
  /** What sandboxes are kept apart by, and what that leaves open. */
  isolation(): Promise<Isolation>;
  /** Resolves once what the last host left undone has been finished. */
  readonly recovered: Promise<void>;
  /** Ends gracefully: answers what was asked, loses no record, leaves the sandboxes running. */
  close(): Promise<void>;
}

const REAP_SECONDS = 60;

/** Brings Porthole up on this machine: the functions, the preview gateway and the schedules, in one process. */
export async function startHost(config: Config, log: Logger, clock: Clock = systemClock): Promise<Host> {
  const folder = await openDataFolder(config.dataDir);
  const records = await openRecords(config, folder.path, log);
  const [jwks] = await Promise.all([
    config.signingKeys ?? loadOrCreateJwks(join(folder.path, 'signing-keys.json')),
    records.migrate(),
  ]);
  const tokens = createSignedTokens(deriveKeySet(jwks));
  const provider = createLocalProvider({ dataDir: folder.path });
  const metrics = createMetrics();
  const scheme = config.publicUrl?.protocol === 'https:' ? 'https' : 'http';
  let listening = 0;

  const common = { maxTotal: config.preview.maxTotal, clock, provider };
  const localPlane = config.preview.enabled
    ? await openLocalPlane({
        ...common,
        folder: join(folder.path, 'previews'),
        zone: config.preview.zoneSuffix,
        address: () => ({ scheme, port: publicPort(config.publicUrl) ?? listening }),
      })
    : undefined;
  const loopbackPlane = localPlane === undefined ? createLoopbackPlane(common) : undefined;
  const plane = localPlane ?? loopbackPlane;
  if (plane === undefined) throw new TypeError('unreachable: one of the two planes is made');

  let warnings: readonly string[] = [];
  const isolation = provider.probe().then((found) => {
    warnings = found.warnings;
    return found;
  });

  const authenticator = createAuthenticator({ ...config, tokens, records, clock });
  let openapi: object | undefined;
  const services: Services = {
    records,
    plane,
    provider,
    tokens,
    clock,
    ids: randomIds,
    preview: config.preview,
    authenticator,
    log,
    warnings: () => warnings,
    metrics: () => metrics.expose(),
    openapi: () =>
      (openapi ??= openapiDocument(ROUTES, { secured: authenticator.withoutCredential === undefined })),
  };
  metrics.countPreviews(async () => {
    let count = 0;
    for await (const _ of plane.list()) count += 1;
    return count;
  });

  const gateway =
    localPlane &&
    createPreviewGateway({
      plane: localPlane,
      records,
      provider,
      clock,
      preview: config.preview,
      scheme,
      log,
      metrics,
    });
  const isKnownHost = knownHosts({
    listenHost: config.host,
    publicUrl: config.publicUrl,
    allowedHosts: config.allowedHosts,
  });
  let callApi: RequestListener | undefined;
  const server = createStrictServer({
    request(req, res, expectsContinue) {
      const host = req.headers.host ?? '';
      const preview = gateway && parsePreviewHost(host, config.preview.zoneSuffix);
      if (gateway !== undefined && preview !== undefined && preview.kind !== 'foreign') {
        gateway.handleRequest(req, res, preview.kind === 'token' ? preview.token : '', expectsContinue);
      } else if (!isKnownHost(host)) {
        refuse(res, 'unknown_host', UNKNOWN_HOST);
      } else {
        if (expectsContinue) res.writeContinue();
        callApi?.(req, res);
      }
    },
    upgrade(req, socket, head) {
      const host = req.headers.host ?? '';
      const preview = gateway && parsePreviewHost(host, config.preview.zoneSuffix);
      if (gateway !== undefined && preview !== undefined && preview.kind !== 'foreign') {
        gateway.handleUpgrade(req, socket, head, preview.kind === 'token' ? preview.token : '');
      } else if (!isKnownHost(host)) {
        refuseUpgrade(socket, 'unknown_host', UNKNOWN_HOST);
      } else {
        refuseUpgrade(socket, 'not_found', 'There is no WebSocket here: GET /v1/openapi lists the routes.');
      }
    },
  });
  const app = createFunctionHost({
    routes: ROUTES,
    services,
    metrics,
    publicOrigin: config.publicUrl?.origin,
    serve: (listener) => {
      callApi = listener;
      return server;
    },
  });
  await app.ready();
  const port = await listen(server, config).catch(async (error: unknown) => {
    await provider.close();
    await records.close();
    folder.release();
    throw error;
  });
  listening = port;

  const stopping = new AbortController();
  const reaper = every(REAP_SECONDS, 'reaper', log, (signal) => reap(services, signal));
  const recovered = recoverSandboxes(services, stopping.signal).catch((error: unknown) => {
    if (!stopping.signal.aborted) log.error({ err: error }, 'recovery of sandboxes failed');
  });

  return {
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`,
    port,
    services,
    recovered,
    isolation: () => isolation,
    async close() {
      stopping.abort();
      await reaper.stop();
      // Together: the server counts the gateway's open WebSockets among its own connections.
      await Promise.all([closeServer(server, app), gateway?.close()]);
      await loopbackPlane?.closeAll();
      await recovered;
      await provider.close();
      await records.close();
      folder.release();
    },
  };
}

const UNKNOWN_HOST =
  'This Host is not served here. Use localhost, or name the host in PORTHOLE_ALLOWED_HOSTS or PORTHOLE_PUBLIC_URL.';

async function openRecords(config: Config, folder: string, log: Logger): Promise<Records> {
  if (config.databaseUrl !== undefined) {
    const { openPostgresRecords } = await import('#adapters/sql/postgres/open-postgres-records.ts');
    return openPostgresRecords({ url: config.databaseUrl, log });
  }
  const { openSqliteRecords } = await import('#adapters/sql/sqlite/open-sqlite-records.ts');
  return openSqliteRecords({ file: join(folder, 'porthole.db'), log });
}

function publicPort(publicUrl: URL | undefined): number | undefined {
  if (publicUrl === undefined) return undefined;
  return publicUrl.port === '' ? (publicUrl.protocol === 'https:' ? 443 : 80) : Number(publicUrl.port);
}

async function listen(server: Server, { host, port }: Config): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** How long answers under way may take once the host is asked to end. */
const DRAIN_MS = 5_000;

async function closeServer(server: Server, app: FastifyInstance): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const limit = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(limit);
  await app.close();
}
