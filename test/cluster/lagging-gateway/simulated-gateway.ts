import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import type { Collection } from '#adapters/kubernetes/client/kubernetes-object.ts';
import type { StoredRoute } from '#adapters/kubernetes/previews/preview-store.ts';
import { createGatewayProbe, type GatewayProbe } from '#adapters/kubernetes/previews/gateway-probe.ts';
import { openClusterStreams } from '#adapters/kubernetes/sandboxes/cluster-streams.ts';
import { ROUTE_RESPONSE_HEADERS } from '#constructs/names.ts';

/** The behavior of a proxy for one host, in milliseconds after its route appeared. */
export interface Programming {
  /**
   * Until then the proxy does not know the host: the fallback answers, or the gateway itself
   * answers 404.
   */
  readonly knownAt: number;
  /** From `knownAt` until then the route has no endpoint: 503, bare or through the route. */
  readonly servesAt: number;
  /**
   * Whether answers before `servesAt` come from the gateway itself, without our headers; they are
   * then 503 every other 50 ms.
   */
  readonly isBare: boolean;
}

/**
 * A gateway of several proxies that learns of routes from the API server with a delay, as a real
 * one does.
 */
export interface SimulatedGateway {
  /** A function's probe: all proxies must serve. */
  readonly probe: GatewayProbe;
  /** The statuses that the first visitor of a host gets, proxy by proxy. */
  visit(hostname: string): Promise<readonly number[]>;
  /**
   * Since when the last proxy serves a host, by `performance.now()`, and how many requests came too
   * early.
   */
  history(hostname: string): { readonly servesSince: number; readonly early: number };
  close(): Promise<void>;
}

export interface SimulatedGatewayOptions {
  readonly access: ClusterAccess;
  readonly routes: Collection;
  /** One loopback address each. */
  readonly proxies: readonly string[];
  /** How a proxy programs the route of this name. */
  readonly programming: (route: string, proxy: number) => Programming;
}

const BURST_MS = 50;

export async function startSimulatedGateway(options: SimulatedGatewayOptions): Promise<SimulatedGateway> {
  const { access, routes, proxies, programming } = options;
  const hosts = new Map<string, { readonly name: string; readonly since: number }>();
  const early = new Map<string, number>();
  const ended = new AbortController();
  const streams = openClusterStreams(access);
  const watching = watchRoutes();

  const answer = (response: ServerResponse, proxy: number, hostname: string): void => {
    const route = hosts.get(hostname);
    const reply = (status: number, headers: Readonly<Record<string, string>> = {}) =>
      response.writeHead(status, headers).end();
    if (route === undefined) {
      early.set(hostname, (early.get(hostname) ?? 0) + 1);
      return void reply(404, { 'X-Porthole-Status': 'unknown' });
    }
    const { knownAt, servesAt, isBare } = programming(route.name, proxy);
    const age = performance.now() - route.since;
    if (age >= servesAt) return void reply(200, ROUTE_RESPONSE_HEADERS);
    early.set(hostname, (early.get(hostname) ?? 0) + 1);
    if (isBare) return void reply(Math.floor(age / BURST_MS) % 2 === 0 ? 404 : 503);
    if (age < knownAt) return void reply(404, { 'X-Porthole-Status': 'starting' });
    reply(503, ROUTE_RESPONSE_HEADERS);
  };

  async function watchRoutes(): Promise<void> {
    const path = `${routes.path}?watch=true`;
    const body = await streams.body({ path, what: 'watch routes' }, ended.signal);
    body.setEncoding('utf8');
    let rest = '';
    for await (const piece of body) {
      const lines = `${rest}${String(piece)}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: StoredRoute };
        const hostname = object.spec?.hostnames?.[0] ?? '';
        if (type === 'DELETED') hosts.delete(hostname);
        if (type === 'ADDED') hosts.set(hostname, { name: object.metadata.name, since: performance.now() });
      }
    }
  }

  const servers = proxies.map((_, proxy) =>
    createServer((incoming, response) => answer(response, proxy, incoming.headers.host ?? '')),
  );
  let port = 0;
  for (const [at, server] of servers.entries()) {
    // The first one chooses the port for all.
    server.listen(port, proxies[at]);
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  }
  return {
    probe: { ...createGatewayProbe({ host: '127.0.0.1', port }), proxies: async () => proxies },
    history(hostname) {
      const route = hosts.get(hostname);
      const lags = proxies.map((_, proxy) => programming(route?.name ?? '', proxy).servesAt);
      return {
        servesSince: (route?.since ?? Number.NaN) + Math.max(...lags),
        early: early.get(hostname) ?? 0,
      };
    },
    visit: (hostname) => Promise.all(proxies.map((proxy) => statusOf(proxy, port, hostname))),
    async close() {
      ended.abort();
      await watching.catch(() => undefined);
      streams.close();
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

async function statusOf(proxy: string, port: number, hostname: string): Promise<number> {
  const visitor = request({ host: proxy, port, agent: false, setHost: false, headers: { host: hostname } });
  visitor.end();
  const [response] = (await once(visitor, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}
