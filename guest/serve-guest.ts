import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { onceOpen } from '../base/concurrency.ts';
import { GuestEvents, serveEvents } from './guest-event-stream.ts';
import { detailRoutes, KeptDetails } from './kept-details.ts';
import { insideSocket, listenInside, SOCKET_VARIABLE } from './inside-socket.ts';
import { isLoopback, isOwnAddress } from './own-address.ts';
import { Ports } from './guest-ports.ts';
import { HostSockets } from './host-sockets.ts';
import type { Processes } from './guest-processes.ts';
import type { Servers } from './guest-servers.ts';
import { readPlain, replacePlain } from './plain-file.ts';
import { areServersDeclared, prepareWorkspace } from './prepare-workspace.ts';
import type * as GuestPod from '../protocol/guest/guest-pod.ts';
import { FILE_AREAS, PROTOCOL_VERSION } from '../protocol/guest/http-protocol.ts';
import {
  BROKER_HEADER,
  type BrokerAccess,
  NETWORK,
  proxyEnvironment,
  readBrokerHeader,
} from '../protocol/guest/network.ts';
import type { ServedPreviews } from './preview/serve-previews.ts';
import type { StartedBy } from '../protocol/guest/processes-protocol.ts';
import type { GuestSettings } from '../protocol/guest/settings-protocol.ts';
import type { CommandStarter } from './start-command.ts';
import {
  refusalOf,
  GuestError,
  type Handler,
  refuse,
  Router,
  type Routes,
  sendJson,
  turnAway,
  type UpgradeHandler,
} from './router.ts';

export interface Guest {
  readonly server: Server;
  /** Kills all commands, if no pid namespace does at the guest's end. */
  endCommands(): void;
}

/**
 * Listens as the settings say, and resolves once connections are accepted. Loads everything but
 * health and events on first use: most guests are idle, and memory is their main cost.
 */
export async function serveGuest(settings: GuestSettings): Promise<Guest> {
  const { workspace, state, listen } = settings;
  const startedAt = new Date().toISOString();
  const pod =
    'port' in listen || settings.inherit ? await import('../protocol/guest/guest-pod.ts') : undefined;
  const env = environmentOf(settings, pod);
  const sockets = new HostSockets();
  const network = await startNetwork(settings, env, sockets);
  const named = (sandboxId: string, broker: string | undefined): void => {
    env['SANDBOX_ID'] = sandboxId;
    if (broker !== undefined) network?.named(broker);
  };
  const events = new GuestEvents();
  const details = new KeptDetails();
  let commands: CommandStarter | undefined;
  const starter = onceOpen(async () => {
    const { CommandStarter } = await import('./start-command.ts');
    return (commands = new CommandStarter({ ...settings, env }));
  });
  let working: { readonly processes: Processes; readonly servers: Servers } | undefined;
  // It fails without disk space, and may work later.
  const work = onceOpen(async () => {
    const { Processes } = await import('./guest-processes.ts');
    const processes = new Processes(join(state, 'processes'), await starter(), events);
    const { Servers } = await import('./guest-servers.ts');
    const servers = new Servers(workspace, join(state, 'servers'), processes, events);
    return (working = { processes, servers });
  });
  const ownerOf = (group: number) => {
    const info = working?.processes.byGroup(group)?.info;
    return info && { processId: info.id, server: working?.servers.ownerOf(info.id) ?? null };
  };
  const ports = new Ports(events, ownerOf, settings.network === undefined ? undefined : NETWORK.port);
  const previews = await startPreviews(settings);
  const files = async (): Promise<Routes<Handler>> =>
    (await import('./files/guest-file-routes.ts')).fileRoutes(workspace, details);
  const health: Routes<Handler> = {
    'GET /v1/health': (_request, response) =>
      sendJson(response, 200, {
        protocol: PROTOCOL_VERSION,
        version: settings.version,
        started_at: startedAt,
        workspace: prepareWorkspace(workspace),
      }),
  };
  const eventRoutes: Routes<Handler> = {
    'GET /v1/events': (_request, response) => {
      const servers = working?.servers.list() ?? [];
      serveEvents(response, events, ports, {
        started_at: startedAt,
        servers: servers.map(({ name, state: is, stateAt: at }) => ({ name, state: is, at })),
      });
    },
  };
  // The name of a socket that is no file begins with NUL.
  const socketFile = 'path' in listen && !listen.path.startsWith('\0') ? listen.path : undefined;
  const loadRoutes = () => import('./guest-routes.ts');
  const snapshots = async () =>
    (await import('./snapshot-routes.ts')).snapshotRoutes({
      env,
      state,
      sockets,
      attached: () => attached,
    });
  const portRoutes = async () => (await loadRoutes()).portRoutes(ports);
  const processRoutes = (by?: StartedBy) => async () =>
    (await loadRoutes()).processRoutes((await work()).processes, by);
  const serverRoutes = (by?: StartedBy) => async () =>
    (await loadRoutes()).serverRoutes((await work()).servers, by);
  const usage = onceOpen(async () =>
    (await import('./sandbox-usage.ts')).usageRoutes(workspace, settings.memoryMb, previews?.bytes),
  );
  const routes = new Router<Handler>({
    health,
    events: eventRoutes,
    ports: portRoutes,
    connections: async () => (await loadRoutes()).connectionRoutes(),
    processes: processRoutes(),
    expire: processRoutes(),
    servers: serverRoutes(),
    previews: previews?.routes ?? {},
    details: detailRoutes(details),
    runs: async () => (await loadRoutes()).runRoutes(env['HOME']),
    usage,
    state: snapshots,
    ...(socketFile !== undefined && { snapshot: snapshots, identity: snapshots }),
    ...Object.fromEntries(FILE_AREAS.map((name) => [name, files])),
    tmp: async () => (await import('./files/guest-file-routes.ts')).temporaryFileRoutes('/tmp', details),
  });
  let attached = 0;
  const upgrades = new Router<UpgradeHandler>({
    exec: async () => {
      const [{ serveExec }, started] = [await import('./serve-exec.ts'), await starter()];
      return {
        'GET /v1/exec': (request, socket, head) => {
          attached += 1;
          socket.once('close', () => (attached -= 1));
          serveExec(started, details, request, socket, head);
        },
      };
    },
    dial: async () => {
      const { serveDial } = await import('./dial.ts');
      return {
        'GET /v1/dial/{port}': ({ headers }, socket, head, { params }) =>
          serveDial(headers.upgrade, params['port'], socket, head),
      };
    },
  });
  const server = createGuestServer(routes, upgrades, gatekeeper(listen, pod, named));
  // Before the first request: declared servers are part of the first answer.
  const declared = areServersDeclared(workspace) ? (await work()).servers : undefined;
  if ('port' in listen) limitOwnConnections(server);
  // The host's own socket file is in a folder that only the host may change.
  const listenForHost = async () => {
    if ('fd' in listen) server.listen({ fd: listen.fd });
    else if ('port' in listen) server.listen(listen.port, listen.host);
    else {
      if (socketFile !== undefined) rmSync(socketFile, { recursive: true, force: true });
      server.listen(listen.path);
    }
    await once(server, 'listening');
  };
  await listenForHost();
  declared?.startDeclared();
  // It counts from then on. A failure shows at the first request for it.
  setTimeout(() => void usage().catch(() => undefined), COUNTS_AFTER_MS).unref();
  // No previews and no files: those requests are authorized outside, so commands inside get
  // neither.
  const inside = new Router<Handler>({
    health,
    events: eventRoutes,
    ports: portRoutes,
    processes: processRoutes(BY_SANDBOX),
    servers: serverRoutes(BY_SANDBOX),
  });
  const own = createGuestServer(inside, new Router({}), () => {});
  own.maxConnections = MAX_INSIDE;
  if (socketFile !== undefined) {
    sockets.track({ server, path: socketFile, listen: listenForHost });
    sockets.track({ server: own, path: insideSocket(state), listen: () => listenInside(own, state) });
  } else server.once('close', () => own.close());
  void listenInside(own, state);
  return { server, endCommands: () => commands?.endAll() };
}

/** Milliseconds after which usage is counted: the first commands come first. */
const COUNTS_AFTER_MS = 500;

/**
 * Open connections of the sandbox's own commands: descriptors must be left for the host's calls.
 */
const MAX_INSIDE = 128;

/**
 * Keeps descriptors for the functions' calls while code in the pod connects to the guest's port. A
 * port-forward comes from the pod's loopback address, so those connections are limited; from the
 * pod's other addresses no caller of ours comes.
 */
function limitOwnConnections(server: Server): void {
  const isOwn = isOwnAddress();
  let open = 0;
  server.on('connection', (socket: Socket) => {
    const [from = '', to = ''] = [socket.remoteAddress, socket.localAddress].map((address) =>
      address?.replace(/^::ffff:/, ''),
    );
    const isForwarded = isLoopback(from) && isLoopback(to);
    if (!isForwarded && !isOwn(from)) return;
    if (!isForwarded || open === MAX_INSIDE) {
      socket.destroy();
      return;
    }
    open += 1;
    socket.once('close', () => (open -= 1));
  });
}

const BY_SANDBOX = { kind: 'sandbox', id: null } as const;

/**
 * Environment of every command. Our own PATH entry comes last: an image may have another
 * `porthole`.
 */
function environmentOf(
  { env, inherit, state }: GuestSettings,
  pod: typeof GuestPod | undefined,
): Record<string, string> {
  const all = inherit ? { ...pod?.inheritedEnvironment(process.env), ...env } : env;
  const { PATH: path } = all;
  return {
    ...all,
    ...(path !== undefined && { PATH: `${path}:${join(import.meta.dirname, 'bin')}` }),
    [SOCKET_VARIABLE]: insideSocket(state),
  };
}

/**
 * Starts the proxy to the broker. Commands get its variables from the start, because declared
 * servers start before the first call names the broker. A guest that restarts in its pod reads the
 * broker's access from its state.
 */
async function startNetwork(
  { network, state }: GuestSettings,
  env: Record<string, string>,
  sockets: HostSockets,
) {
  if (network === undefined) return undefined;
  const { NamedBroker, startNetworkProxy } = await import('./network-proxy.ts');
  if (network !== true) {
    startNetworkProxy(() => Promise.resolve({ path: network }), sockets);
    return undefined;
  }
  const broker = new NamedBroker();
  const file = join(state, 'broker');
  let known = '';
  const use = (access: BrokerAccess): void => {
    Object.assign(env, proxyEnvironment(access.direct));
    broker.name(access);
  };
  const named = (header: string): void => {
    const access = header === known ? undefined : readBrokerHeader(header);
    if (access === undefined) return;
    known = header;
    use(access);
    try {
      replacePlain(file, header);
    } catch (error) {
      process.stderr.write(`porthole-guest: the broker is not stored: ${(error as Error).message}\n`);
    }
  };
  Object.assign(env, proxyEnvironment());
  try {
    const kept = readBrokerHeader(readPlain(file, MAX_HEADER_BYTES).toString());
    if (kept !== undefined) use(kept);
  } catch {
    // Not stored, or the sandbox's code has changed it.
  }
  startNetworkProxy(() => broker.find());
  return { named };
}

/** Bytes of a request's headers that Node accepts. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Loads the proxy only if the guest is the upstream of previews. */
async function startPreviews({ previews, workspace }: GuestSettings): Promise<ServedPreviews | undefined> {
  if (previews === undefined) return undefined;
  const { servePreviews } = await import('./preview/serve-previews.ts');
  return servePreviews(previews, workspace);
}

/** @throws GuestError `unauthorized` */
type Gatekeeper = (request: IncomingMessage) => void;

/**
 * If more than the host can reach the port, each request carries a token for its own operation.
 * @param named called with the sandbox and the broker named in a request with such a token
 */
function gatekeeper(
  listen: GuestSettings['listen'],
  pod: typeof GuestPod | undefined,
  named: (sandboxId: string, broker: string | undefined) => void,
): Gatekeeper {
  if (!('port' in listen) || listen.key === undefined || pod === undefined) return () => {};
  const { operationOf, readPublicKey, SANDBOX_HEADER, verifyGuestToken } = pod;
  const { key, audience = '' } = listen;
  const keys = key.split(',').map(readPublicKey);
  return ({ headers, method = '', url = '' }) => {
    const token = /^Bearer ([\w.-]+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
    const claims = { audience, operation: operationOf(method, url) };
    if (!verifyGuestToken(token, keys, claims, new Date())) {
      throw new GuestError(
        'unauthorized',
        `${claims.operation}: no valid token for it. Porthole's functions sign one for each call; check their clock.`,
      );
    }
    const { [SANDBOX_HEADER]: sandboxId, [BROKER_HEADER]: broker } = headers;
    if (typeof sandboxId !== 'string' || !/^[a-z2-7]{1,128}$/.test(sandboxId)) return;
    named(sandboxId, typeof broker === 'string' ? broker : undefined);
  };
}

function createGuestServer(
  routes: Router<Handler>,
  upgrades: Router<UpgradeHandler>,
  check: Gatekeeper,
): Server {
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, (request, response) => {
    const ended = new AbortController();
    response.on('close', () => ended.abort());
    try {
      check(request);
    } catch (error) {
      turnAway(response, refusalOf(error));
      return;
    }
    const answer = async (): Promise<void> => {
      const url = urlOf(request);
      const { handler, params } = await routes.find(request.method ?? '', url.pathname);
      await handler(request, response, { url, params, signal: ended.signal });
    };
    answer().catch((error: unknown) => refuse(request, response, refusalOf(error)));
  });
  server.on('upgrade', (request, socket, head) => {
    const take = async (): Promise<void> => {
      check(request);
      const url = urlOf(request);
      const { handler, params } = await upgrades.find(request.method ?? '', url.pathname);
      await handler(request, socket, head, { url, params });
    };
    socket.on('error', () => {});
    take().catch((error: unknown) => refuseUpgrade(socket, error));
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
}

function urlOf(request: IncomingMessage): URL {
  return new URL(request.url ?? '/', 'http://guest');
}

function refuseUpgrade(socket: Duplex, error: unknown): void {
  const refused = refusalOf(error);
  const body = Buffer.from(refused.body);
  const head = `HTTP/1.1 ${refused.status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  socket.end(Buffer.concat([Buffer.from(head), body]));
}
