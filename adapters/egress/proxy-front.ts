import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { MAX_BROKER_LINE_BYTES, readPreamble } from '#protocol/guest/network.ts';

/** A program that wants a byte stream to a destination. */
export interface TunnelRequest {
  readonly host: string;
  readonly port: number;
  /** The program's port in the sandbox, on its connection to the guest. Undefined where unknown. */
  readonly clientPort: number | undefined;
  /** Bytes that the program has already sent are still in it, or in `head`. */
  readonly client: Duplex;
  readonly head: Buffer;
  accept(this: void): void;
  /** Sends the reason in the protocol's format and ends the connection. */
  refuse(this: void, how: 'blocked' | 'unreachable', message: string): void;
}

export interface ProxyFrontHandlers {
  tunnel(request: TunnelRequest): void;
  /** A request of plain HTTP in absolute form. */
  request(request: IncomingMessage, response: ServerResponse, clientPort: number | undefined): void;
}

/** Timeout for the first bytes and the head of a request, in milliseconds. */
const HEAD_MS = 10_000;

/** A SOCKS request is at most 4 + 1 + 255 + 2 bytes. */
const MAX_SOCKS_BYTES = 600;

const SOCKS_VERSION = 5;

/** HTTP and SOCKS5 on one server, which the first byte distinguishes. Not listening yet. */
export function createProxyFront(handlers: ProxyFrontHandlers): Server {
  const clientPorts = new WeakMap<Duplex, number | undefined>();
  const http = createHttpServer(
    {
      maxHeaderSize: 32 * 1024,
      headersTimeout: HEAD_MS,
      requestTimeout: 0,
      keepAliveTimeout: 30_000,
      allowHalfOpen: true,
      insecureHTTPParser: false,
      shouldUpgradeCallback: () => false,
    } as Parameters<typeof createHttpServer>[0] & object,
    (request, response) => handlers.request(request, response, clientPorts.get(request.socket)),
  );
  http.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    const authority = /^(\[[^\]]*\]|[^:]+):(\d{1,5})$/.exec(request.url ?? '');
    const port = Number(authority?.[2]);
    client.on('error', () => {});
    if (authority === null || port < 1 || port > 65_535) {
      client.end(textAnswer(400, 'Bad Request', 'CONNECT takes host:port.\n'));
      return;
    }
    handlers.tunnel({
      host: authority[1] ?? '',
      port,
      clientPort: clientPorts.get(client),
      client,
      head,
      accept: () => void client.write('HTTP/1.1 200 Connection established\r\n\r\n'),
      refuse: (how, message) =>
        void client.end(
          how === 'blocked'
            ? textAnswer(403, 'Blocked by Porthole', message)
            : textAnswer(502, 'Bad Gateway', message),
        ),
    });
  });
  return createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => {});
    void firstBytes(socket).then((first) => {
      if (first === undefined) return socket.destroy();
      clientPorts.set(socket, first.clientPort);
      if (first.bytes[0] === SOCKS_VERSION) {
        void serveSocks(socket, first.clientPort, handlers);
        return undefined;
      }
      http.emit('connection', socket);
      return undefined;
    });
  });
}

function textAnswer(status: number, reason: string, text: string): string {
  return `HTTP/1.1 ${status} ${reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`;
}

/**
 * Reads the preamble and leaves the following bytes in the socket. Undefined at the end of the
 * stream and on a timeout.
 */
async function firstBytes(
  socket: Socket,
): Promise<{ readonly bytes: Buffer; readonly clientPort: number | undefined } | undefined> {
  let bytes = Buffer.alloc(0);
  while (true) {
    const preamble = readPreamble(bytes);
    if (preamble !== undefined && bytes.length > preamble.length) {
      const rest = bytes.subarray(preamble.length);
      socket.unshift(rest);
      return { bytes: rest, clientPort: preamble.port };
    }
    const more = await readSome(socket);
    if (more === undefined) return undefined;
    bytes = Buffer.concat([bytes, more]);
  }
}

/**
 * The line that a guest in a pod sends first. Leaves the following bytes in the socket. Undefined
 * at the end of the stream, on a timeout, and for a line that is too long.
 */
export async function readBrokerToken(socket: Socket): Promise<string | undefined> {
  let bytes = Buffer.alloc(0);
  while (bytes.length <= MAX_BROKER_LINE_BYTES) {
    const end = bytes.indexOf(10);
    if (end >= 0) {
      if (end + 1 < bytes.length) socket.unshift(bytes.subarray(end + 1));
      return bytes.toString('latin1', 0, end);
    }
    const more = await readSome(socket);
    if (more === undefined) return undefined;
    bytes = Buffer.concat([bytes, more]);
  }
  return undefined;
}

/** RFC 1928: no authentication, CONNECT only. */
export async function serveSocks(
  socket: Socket,
  clientPort: number | undefined,
  handlers: Pick<ProxyFrontHandlers, 'tunnel'>,
): Promise<void> {
  let bytes = Buffer.alloc(0);
  const need = async (length: number): Promise<boolean> => {
    while (bytes.length < length) {
      const more = length > MAX_SOCKS_BYTES ? undefined : await readSome(socket);
      if (more === undefined) return false;
      bytes = Buffer.concat([bytes, more]);
    }
    return true;
  };
  const reply = (code: number): Buffer => Buffer.from([SOCKS_VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]);
  if (!(await need(2)) || !(await need(2 + (bytes[1] as number)))) return void socket.destroy();
  const methods = bytes.subarray(2, 2 + (bytes[1] as number));
  bytes = bytes.subarray(2 + methods.length);
  if (!methods.includes(0)) return void socket.end(Buffer.from([SOCKS_VERSION, 0xff]));
  socket.write(Buffer.from([SOCKS_VERSION, 0]));
  if (!(await need(5)) || bytes[0] !== SOCKS_VERSION) return void socket.destroy();
  if (bytes[1] !== 1) return void socket.end(reply(7));
  const kind = bytes[3];
  const size = kind === 1 ? 4 : kind === 4 ? 16 : kind === 3 ? 1 + (bytes[4] as number) : undefined;
  if (size === undefined) return void socket.end(reply(8));
  if (!(await need(4 + size + 2))) return void socket.destroy();
  const address = bytes.subarray(4, 4 + size);
  const port = bytes.readUInt16BE(4 + size);
  handlers.tunnel({
    host: socksHost(kind as number, address),
    port,
    clientPort,
    client: socket,
    head: bytes.subarray(4 + size + 2),
    accept: () => void socket.write(reply(0)),
    refuse: (how) => void socket.end(reply(how === 'blocked' ? 2 : 4)),
  });
}

function socksHost(kind: number, address: Buffer): string {
  if (kind === 3) return address.toString('latin1', 1);
  if (kind === 1) return [...address].join('.');
  const groups = Array.from({ length: 8 }, (_, index) => address.readUInt16BE(index * 2).toString(16));
  return groups.join(':');
}

/** Reads the available bytes, at least one. Undefined at the end of the stream and on a timeout. */
function readSome(socket: Socket): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const done = (bytes: Buffer | undefined): void => {
      clearTimeout(timer);
      socket.off('readable', look).off('end', gone).off('close', gone);
      resolve(bytes);
    };
    const look = (): void => {
      const bytes = socket.read() as Buffer | null;
      if (bytes !== null) done(bytes);
    };
    const gone = (): void => done(undefined);
    const timer = setTimeout(gone, HEAD_MS);
    socket.on('readable', look).once('end', gone).once('close', gone);
    look();
  });
}
