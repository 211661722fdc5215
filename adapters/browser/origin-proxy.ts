import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Carries all of Chromium's requests during one look. */
export interface OriginProxy {
  /** For Chromium's proxy setting. */
  readonly url: string;
  /** Connects to these `host:port` from now on. */
  allow(hosts: ReadonlySet<string>): void;
  close(): void;
}

/** RFC 1928: the replies that are used. */
const SUCCEEDED = 0;
const NOT_ALLOWED = 2;
const REFUSED = 5;
const UNSUPPORTED = 7;
const MOST_CONNECTIONS = 64;
/** `05 01 00 03`, a length, a name of at most 255 bytes and a port. */
const LONGEST_REQUEST = 262;

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
  const forward = async (client: Socket): Promise<void> => {
    const { host, port } = await readRequest(client);
    if (!allowed.has(`${host}:${port}`)) {
      client.end(reply(NOT_ALLOWED));
      return;
    }
    // RFC 6761 section 6.3: names below `localhost` are loopback; Node asks DNS for them.
    const at = host.endsWith('.localhost') ? 'localhost' : host;
    const upstream = track(connect({ host: at, port, noDelay: true, autoSelectFamily: true }));
    upstream.once('error', () => client.destroyed || client.end(reply(REFUSED)));
    upstream.once('connect', () => {
      client.write(reply(SUCCEEDED));
      client.pipe(upstream).pipe(client);
    });
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  };
  const server = createServer({ noDelay: true }, (client) => {
    track(client);
    forward(client).catch(() => client.destroy());
  });
  server.maxConnections = MOST_CONNECTIONS;
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

/** SOCKS5 (RFC 1928) handshake. Throws for anything that Chromium does not send. */
async function readRequest(client: Socket): Promise<{ readonly host: string; readonly port: number }> {
  let got: Buffer = Buffer.alloc(0);
  const bytes = async (count: number): Promise<Buffer> => {
    while (got.length < count) {
      const chunk = client.read() as Buffer | null;
      if (chunk === null) {
        await once(client, 'readable');
        if (client.readableEnded) throw new Error('ended early');
      } else got = Buffer.concat([got, chunk]);
      if (got.length > LONGEST_REQUEST) throw new Error('too long');
    }
    return got;
  };
  const take = async (count: number): Promise<Buffer> => {
    const all = await bytes(count);
    got = all.subarray(count);
    return all.subarray(0, count);
  };
  const [version, methods = 0] = await take(2);
  if (version !== 5) throw new Error('not SOCKS5');
  await take(methods);
  client.write(Buffer.from([5, 0]));
  const [, command, , kind] = await take(4);
  if (command !== 1 || kind === 4) {
    client.end(reply(UNSUPPORTED));
    throw new Error('unsupported');
  }
  const length = kind === 3 ? ((await take(1))[0] ?? 0) : 4;
  const address = await take(length);
  const host = kind === 3 ? address.toString('latin1').toLowerCase() : [...address].join('.');
  return { host, port: (await take(2)).readUInt16BE() };
}

function reply(code: number): Buffer {
  return Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
}
