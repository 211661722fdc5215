import { createServer, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { CommandPipes } from './command-pipes.ts';
import { serveDial } from './dial.ts';
import { GuestEvents } from './event-stream.ts';
import { serveExec } from './exec.ts';
import { fileRoutes } from './files/file-routes.ts';
import { prepareWorkspace } from './prepare-workspace.ts';
import { inheritedEnvironment, operationOf, readPublicKey, verifyGuestToken } from './protocol/guest-pod.ts';
import { Ports } from './ports.ts';
import { processRoutes } from './process-routes.ts';
import { Processes } from './processes.ts';
import { portRoutes, serverRoutes } from './server-routes.ts';
import { Servers } from './servers.ts';
import { PROTOCOL_VERSION } from './protocol/http.ts';
import {
  asGuestError,
  GuestError,
  type Handler,
  Router,
  type Routes,
  sendError,
  sendJson,
  type UpgradeHandler,
} from './router.ts';
import type { GuestSettings } from './protocol/settings.ts';
import { CommandStarter } from './start-command.ts';

export interface Guest {
  readonly server: Server;
  /** Kills what runs, where no pid namespace does it at the guest's end. */
  endCommands(): void;
}

/** Listens where the settings say, and resolves once connections are accepted. */
export async function serveGuest(settings: GuestSettings): Promise<Guest> {
  const startedAt = new Date().toISOString();
  const pipes = new CommandPipes(join(settings.state, 'pipes'));
  const env = settings.inherit ? { ...inheritedEnvironment(process.env), ...settings.env } : settings.env;
  const starter = new CommandStarter({ ...settings, env }, pipes);
  const previews = await startPreviews(settings);
  const events = new GuestEvents();
  const processes = new Processes(join(settings.state, 'processes'), starter, events);
  const rings = join(settings.state, 'servers');
  const servers = new Servers(settings.workspace, rings, processes, events);
  const ports = new Ports(events, (group) => {
    const info = processes.byGroup(group)?.info;
    return info && { processId: info.id, server: servers.ownerOf(info.id) };
  });
  const health: Routes<Handler> = {
    'GET /v1/health': (_request, response) =>
      sendJson(response, 200, {
        protocol: PROTOCOL_VERSION,
        version: settings.version,
        started_at: startedAt,
        workspace: prepareWorkspace(settings.workspace),
      }),
  };
  const upgrades: Routes<UpgradeHandler> = {
    'GET /v1/exec': (request, socket, head) => serveExec(starter, request, socket, head),
    'GET /v1/dial/{port}': ({ headers }, socket, head, { params }) =>
      serveDial(headers.upgrade, params['port'], socket, head),
  };
  const { listen } = settings;
  const server = createGuestServer(
    new Router(
      health,
      previews?.routes ?? {},
      processRoutes(processes),
      serverRoutes(servers),
      portRoutes(ports, servers, events, startedAt),
      fileRoutes(settings.workspace),
    ),
    new Router(upgrades),
    gatekeeper(listen),
  );
  // The host's own socket file is in a folder that only the host may change.
  if ('fd' in listen) server.listen({ fd: listen.fd });
  else if ('path' in listen) server.listen(listen.path);
  else server.listen(listen.port, listen.host);
  await once(server, 'listening');
  void pipes.prepare();
  servers.startDeclared();
  return { server, endCommands: () => starter.endAll() };
}

/** The proxy is loaded only where the guest is the upstream of previews. */
async function startPreviews({ previews, workspace }: GuestSettings) {
  if (previews === undefined) return undefined;
  const { servePreviews } = await import('./preview/serve-previews.ts');
  return servePreviews(previews, workspace);
}

/** @throws GuestError `unauthorized` */
type Gatekeeper = (request: IncomingMessage) => void;

/** Where more than the host reaches the port, each request carries a token for its own operation. */
function gatekeeper(listen: GuestSettings['listen']): Gatekeeper {
  if (!('port' in listen) || listen.key === undefined) return () => {};
  const { key, audience = '' } = listen;
  const keys = key.split(',').map(readPublicKey);
  return ({ headers, method = '', url = '' }) => {
    const token = /^Bearer ([\w.-]+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
    const claims = { audience, operation: operationOf(method, url) };
    if (verifyGuestToken(token, keys, claims, new Date())) return;
    throw new GuestError(
      'unauthorized',
      `${claims.operation}: no valid token for it. Porthole's functions sign one for each call; check their clock.`,
    );
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
    const answer = async (): Promise<void> => {
      check(request);
      const url = urlOf(request);
      const { handler, params } = routes.find(request.method ?? '', url.pathname);
      await handler(request, response, { url, params, signal: ended.signal });
    };
    answer().catch((error: unknown) => sendError(response, error));
  });
  server.on('upgrade', (request, socket, head) => {
    const take = async (): Promise<void> => {
      check(request);
      const url = urlOf(request);
      const { handler, params } = upgrades.find(request.method ?? '', url.pathname);
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
  const refused = asGuestError(error);
  const body = Buffer.from(refused.body);
  const head = `HTTP/1.1 ${refused.status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  socket.end(Buffer.concat([Buffer.from(head), body]));
}
