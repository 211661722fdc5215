import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { WebSocketServer, type WebSocket } from 'ws';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { type ClusterStreams, openClusterStreams } from '#adapters/kubernetes/sandboxes/cluster-streams.ts';

export interface FakeStreams {
  readonly access: ClusterAccess;
  readonly streams: ClusterStreams;
  /** The requested URLs, in order. */
  readonly asked: readonly string[];
  readonly tokens: readonly (string | undefined)[];
  close(): Promise<void>;
}

/**
 * An API server on loopback that handles each WebSocket and each plain request as a test defines.
 */
export async function fakeStreams({
  socket = () => {},
  request = (_request, response) => void response.writeHead(404).end(),
  refuse = () => undefined,
}: {
  socket?: (socket: WebSocket, url: string) => void;
  request?: (request: IncomingMessage, response: ServerResponse) => void;
  /** The status with which an upgrade is refused. */
  refuse?: (request: IncomingMessage) => { status: number; body: string } | undefined;
} = {}): Promise<FakeStreams> {
  const asked: string[] = [];
  const tokens: (string | undefined)[] = [];
  const server: Server = createServer((incoming, response) => {
    asked.push(incoming.url ?? '');
    tokens.push(incoming.headers.authorization);
    request(incoming, response);
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (incoming, connection, head) => {
    asked.push(incoming.url ?? '');
    tokens.push(incoming.headers.authorization);
    const refused = refuse(incoming);
    if (refused !== undefined) {
      const { status, body } = refused;
      connection.end(`HTTP/1.1 ${status} No\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      return;
    }
    sockets.handleUpgrade(incoming, connection, head, (opened) => {
      opened.on('error', () => {});
      socket(opened, incoming.url ?? '');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const access: ClusterAccess = {
    server: `http://127.0.0.1:${port}`,
    token: async (refresh) => (refresh ? 'new' : 'old'),
  };
  const streams = openClusterStreams(access);
  return {
    access,
    streams,
    asked,
    tokens,
    close: async () => {
      streams.close();
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
