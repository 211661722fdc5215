import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import type { ApiCall, Fault } from '#test/doubles/api-server/fake-api-server.ts';
import { fail, failUpgrade } from './fail.ts';

/** A call as it arrived at the proxy; `verb` is also `watch`, or `connect` for a WebSocket. */
export interface ProxiedCall extends ApiCall {
  /** The fault that replaced its answer. */
  readonly fault: Fault | undefined;
  /** The query string: two lists of one kind are two calls. */
  readonly query: string;
}

/**
 * A proxy to a real API server that injects faults: it authenticates each caller, and fails as
 * configured.
 */
export interface FaultProxy {
  readonly access: ClusterAccess;
  readonly calls: ProxiedCall[];
  /** Called for each call, before anything happens. */
  fault: ((call: ApiCall) => Fault | undefined) | undefined;
  close(): Promise<void>;
}

const PATH = /^\/(?:api|apis\/[a-z0-9.-]+)\/v\d\w*\/namespaces\/[a-z0-9-]+\/([a-z]+)(?:\/([^/]+))?/;

export async function startFaultProxy(access: ClusterAccess): Promise<FaultProxy> {
  const { hostname, port } = new URL(access.server);
  const { ca, cert, key, serverName } = access;
  const agent = new Agent({
    keepAlive: true,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  });
  const calls: ProxiedCall[] = [];
  const sockets = new Set<Duplex>();

  const arrived = (incoming: IncomingMessage, isUpgrade = false): ProxiedCall => {
    const { pathname, search, searchParams } = new URL(incoming.url ?? '/', 'http://api');
    const [, plural = '', name] = PATH.exec(pathname) ?? [];
    const of = name === undefined ? 'list' : 'get';
    const verbs: Record<string, string> = { GET: of, POST: 'create', PATCH: 'patch', DELETE: 'delete' };
    const read = searchParams.get('watch') === 'true' ? 'watch' : verbs[incoming.method ?? ''];
    const call: ApiCall = {
      verb: isUpgrade ? 'connect' : (read ?? ''),
      plural,
      name,
      at: performance.now(),
      status: 0,
    };
    const recorded = Object.assign(call, { fault: proxy.fault?.(call), query: search });
    calls.push(recorded);
    return recorded;
  };

  const ask = async (incoming: IncomingMessage) => {
    const headers = { ...incoming.headers };
    delete headers.host;
    if (access.token !== undefined) headers.authorization = `Bearer ${await access.token(false)}`;
    const { method, url } = incoming;
    return httpsRequest({ host: hostname, port, method, path: url, headers, agent });
  };

  const relay = async (call: ProxiedCall, incoming: IncomingMessage, response: ServerResponse) => {
    const { fault } = call;
    if (fault !== undefined && !fault.committed) return fail(call, fault, incoming, response);
    const outgoing = await ask(incoming);
    incoming.pipe(outgoing);
    // A client that has disconnected needs no answer, unless its call must have taken effect.
    if (fault === undefined) response.once('close', () => outgoing.destroy());
    outgoing.once('error', () => incoming.socket.destroy());
    outgoing.once('response', (answer) => {
      call.status = answer.statusCode ?? 0;
      if (fault === undefined) {
        response.writeHead(call.status, answer.headers);
        response.flushHeaders();
        answer.once('error', () => response.destroy());
        answer.pipe(response);
      } else {
        answer.resume().once('end', () => fail(call, fault, incoming, response));
      }
    });
  };

  const relayUpgrade = async (call: ProxiedCall, incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const outgoing = await ask(incoming);
    outgoing.once('error', () => socket.destroy());
    outgoing.once('response', (answer) => {
      call.status = answer.statusCode ?? 0;
      socket.write(answerHead(answer));
      answer.pipe(socket);
    });
    outgoing.once('upgrade', (answer, upstream: Duplex, first: Buffer) => {
      call.status = 101;
      hold(sockets, upstream);
      socket.write(answerHead(answer));
      socket.write(first);
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
      upstream.once('close', () => socket.destroy());
      socket.once('close', () => upstream.destroy());
    });
    outgoing.end();
  };

  const server = createServer((incoming, response) => {
    relay(arrived(incoming), incoming, response).catch(() => incoming.socket.destroy());
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const call = arrived(incoming, true);
    hold(sockets, socket);
    if (call.fault !== undefined) return failUpgrade(call, call.fault, incoming, socket);
    relayUpgrade(call, incoming, socket, head).catch(() => socket.destroy());
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  const proxy: FaultProxy = {
    access: { server: `http://127.0.0.1:${own}` },
    calls,
    fault: undefined,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      agent.destroy();
    },
  };
  return proxy;
}

/** Status line and headers of an answer, forwarded unchanged. */
function answerHead({ statusCode, rawHeaders }: IncomingMessage): string {
  let text = `HTTP/1.1 ${statusCode} \r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) text += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`;
  return `${text}\r\n`;
}

function hold(sockets: Set<Duplex>, socket: Duplex): void {
  sockets.add(socket);
  socket.on('error', () => socket.destroy());
  socket.once('close', () => sockets.delete(socket));
}
