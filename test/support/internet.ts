import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A proxy in place of the internet, which is every host that is asked for. */
export interface Internet {
  /** URL of the proxy. */
  readonly proxy: string;
  /** Host and port of each tunnel. */
  readonly tunnels: readonly string[];
  /** Resolves once there are that many tunnels. */
  tunnelled(count: number): Promise<void>;
  close(): void;
}

export interface InternetOptions {
  readonly address?: string;
  /** Answers plain HTTP, in absolute form and in tunnels. @default `answerFromAfar` */
  readonly answer?: Answer;
  /** The server behind tunnels to that host, such as one with TLS. @default the proxy itself */
  readonly serverOf?: (host: string, port: number) => Server | undefined;
}

export async function startInternet({
  address = '127.0.0.1',
  answer = answerFromAfar,
  serverOf = () => undefined,
}: InternetOptions = {}): Promise<Internet> {
  const server = createServer(answer);
  const tunnels: string[] = [];
  server.on('connect', ({ url = '' }: IncomingMessage, client: Socket) => {
    tunnels.push(url);
    server.emit('tunnelled');
    const [host = '', asked] = url.split(':');
    const { port } = (serverOf(host, Number(asked)) ?? server).address() as AddressInfo;
    const upstream = connect(port, address, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
  });
  server.listen(0, address);
  await once(server, 'listening');
  return {
    proxy: `http://${address}:${(server.address() as AddressInfo).port}`,
    tunnels,
    async tunnelled(count) {
      while (tunnels.length < count) await once(server, 'tunnelled');
    },
    close() {
      server.close().closeAllConnections();
    },
  };
}

/** `/endless` sends without an end, so that a connection is open until something ends it. */
export function answerFromAfar({ url = '' }: IncomingMessage, response: ServerResponse): void {
  if (!url.endsWith('/endless')) return void response.end('from afar\n');
  const send = (): void => {
    while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
  };
  response.on('drain', send);
  send();
}
