import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { serveSocks, type TunnelRequest } from '#adapters/egress/proxy-front.ts';

/** Carries all of Chromium's requests during one look. */
export interface OriginProxy {
  /** For Chromium's proxy setting. */
  readonly url: string;
  /** Connects to these `host:port` from now on. */
  allow(hosts: ReadonlySet<string>): void;
  close(): void;
}

const MAX_CONNECTIONS = 64;

/**
 * A SOCKS5 proxy (RFC 1928) on loopback that connects to the allowed `host:port` and to nothing
 * else. At first none is allowed. All traffic of a page goes through it: redirects, WebSockets,
 * service workers, prefetches. Chromium resolves no name itself while it has a SOCKS proxy.
 */
export async function openOriginProxy(): Promise<OriginProxy> {
  let allowed: ReadonlySet<string> = new Set();
  const open = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    open.add(socket);
    return socket.once('close', () => open.delete(socket)).on('error', () => socket.destroy());
  };
  const tunnel = ({ host: asked, port, client, accept, refuse }: TunnelRequest): void => {
    const host = asked.toLowerCase();
    if (!allowed.has(`${host}:${port}`)) return refuse('blocked', '');
    // RFC 6761 section 6.3: names below `localhost` are loopback; Node asks DNS for them.
    const at = host.endsWith('.localhost') ? 'localhost' : host;
    const upstream = track(connect({ host: at, port, noDelay: true, autoSelectFamily: true }));
    upstream.once('error', () => client.destroyed || refuse('unreachable', ''));
    upstream.once('connect', () => {
      accept();
      client.pipe(upstream).pipe(client);
    });
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  };
  const server = createServer({ noDelay: true }, (client) => {
    void serveSocks(track(client), undefined, { tunnel });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `socks5://127.0.0.1:${port}`,
    allow(hosts) {
      allowed = hosts;
    },
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
