import { once } from 'node:events';
import {
  type IncomingMessage,
  createServer as createHttpServer,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, createServer, type Server as TcpServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { dialFailure } from '#adapters/previews/dial-failure.ts';
import { PortholeError } from '#base/errors.ts';
import { parsePreviewHost, previewHost, tokenFingerprint } from '#core/previews/preview-token.ts';
import { createStrictServer } from '#proxy/front/strict-server.ts';
import { createPreviewProxy } from '#proxy/preview-proxy.ts';
import type { PreviewProxyDeps } from '#proxy/preview-proxy-deps.ts';
import { clientAddress, NO_PROXIES } from '#proxy/client-address.ts';
import type { PreviewLookup, PreviewTarget } from '#proxy/preview-target.ts';

export const TOKEN = `calm-blue-otter-${'a'.repeat(26)}`;
export const SIBLING_TOKEN = `kind-red-heron-${'b'.repeat(26)}`;
/** The app's port of the sibling. */
export const SIBLING_PORT = 5_678;
export const FOREIGN_TOKEN = `wild-grey-lynx-${'c'.repeat(26)}`;

/** The app's port of a preview of another run. */
export const FOREIGN_PORT = 5_679;

export const CONSOLE_ORIGIN = 'http://console.localhost:8787';

/** A listener on loopback, with its close function. */
export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

/** A preview proxy with a live preview, of `TOKEN`, and a sibling, of `SIBLING_TOKEN`. */
export interface GatewayFixture extends Listener {
  /** Scheme of the preview's public origin. */
  readonly scheme: 'http' | 'https';
  /** `{token}-preview.localhost:{port}` */
  readonly previewHost: string;
  /** A host that is not a preview's. */
  readonly apiHost: string;
  /** Requests that the API side has read completely, as `METHOD /path bytes`. */
  readonly apiRequests: string[];
  /** Number of connections to the app. */
  readonly dials: () => number;
  /** Number of seconds with recorded use of the preview. */
  readonly uses: () => number;
  /** When use of the preview was last recorded, by `performance.now()`. */
  readonly lastUse: () => number | undefined;
  /** Ends the connections of the preview. */
  readonly revoke: () => void;
  readonly drain: (drainMs?: number) => Promise<void>;
}

export type StartGateway = (
  upstreamPort: number,
  overrides?: { readonly dial?: (target: Pick<PreviewTarget, 'targetPort'>) => Promise<Duplex> },
) => Promise<GatewayFixture>;

/**
 * The gateway wired like the host's: one strict server for API and previews, with the proxy behind
 * it.
 */
export interface LocalFixture extends GatewayFixture {
  readonly touched: PreviewTarget[];
  /** `status by` of every response, e.g. `200 app`. */
  readonly answered: string[];
  /** Number of open WebSockets. */
  readonly upgrades: () => number;
  /** All log lines, as JSON. */
  readonly logged: string[];
}

export async function startGateway(
  targetPort: number,
  overrides: Partial<Pick<PreviewProxyDeps, 'dial' | 'lookup'>> = {},
): Promise<LocalFixture> {
  const apiRequests: string[] = [];
  const touched: PreviewTarget[] = [];
  let lastUse: number | undefined;
  const answered: string[] = [];
  const logged: string[] = [];
  let upgrades = 0;
  let dials = 0;
  const log = (fields: object, message: string): void => {
    logged.push(JSON.stringify({ ...fields, message }));
  };
  const proxy = createPreviewProxy({
    lookup:
      overrides.lookup ??
      ((token): PreviewLookup =>
        token === TOKEN
          ? { kind: 'live', target: { runId: 'run_1', sandboxId: 's1', targetPort, token } }
          : { kind: 'unknown' }),
    dial: (target, signal) => {
      dials += 1;
      return (overrides.dial ?? dialLoopback)(target, signal);
    },
    touched(target) {
      touched.push(target);
      lastUse = performance.now();
    },
    dialFailure,
    clientAddress: (req) => clientAddress(req, NO_PROXIES),
    visitor(req) {
      const { host = '' } = req.headers;
      return { scheme: 'http', host, audience: host };
    },
    reportContact: () => 'abuse@porthole.test',
    fingerprint: tokenFingerprint,
    siblings: ({ token }) => ({
      portOf: (hostname) =>
        token === TOKEN && hostname === previewHost(SIBLING_TOKEN, 'localhost') ? SIBLING_PORT : undefined,
      hostOf: (port) =>
        token === TOKEN && port === SIBLING_PORT ? previewHost(SIBLING_TOKEN, 'localhost') : undefined,
      targetOf: (port) =>
        token === TOKEN && port === SIBLING_PORT
          ? { runId: 'run_1', sandboxId: 's1', targetPort: SIBLING_PORT, token: SIBLING_TOKEN }
          : undefined,
    }),
    frameAncestors: () => [CONSOLE_ORIGIN],
    log: { debug: log, warn: log },
    metrics: {
      answered: (statusCode, by) => void answered.push(`${statusCode} ${by}`),
      bytes: () => undefined,
      upgrades: (change) => {
        upgrades += change;
      },
    },
  });
  const api = (req: IncomingMessage, res: ServerResponse): void => {
    let bytes = 0;
    req.on('data', (part: Buffer) => {
      bytes += part.length;
    });
    req.on('end', () => {
      apiRequests.push(`${req.method} ${req.url} ${bytes}`);
      res.end('api');
    });
  };
  const server = createStrictServer({
    request(req, res, expectsContinue) {
      const host = parsePreviewHost(req.headers.host ?? '', 'localhost');
      if (host.kind === 'token') proxy.handleRequest(req, res, host.token, expectsContinue);
      else {
        if (expectsContinue) res.writeContinue();
        api(req, res);
      }
    },
    upgrade(req, socket, head) {
      const host = parsePreviewHost(req.headers.host ?? '', 'localhost');
      if (host.kind === 'token') proxy.handleUpgrade(req, socket, head, host.token);
      else socket.destroy();
    },
  });
  const listening = await listen(server);
  return {
    ...listening,
    async close() {
      await proxy.close(0);
      await listening.close();
    },
    scheme: 'http',
    uses: () => touched.length,
    lastUse: () => lastUse,
    revoke: () => proxy.revoke({ token: TOKEN }),
    drain: (drainMs) => proxy.close(drainMs),
    previewHost: `${TOKEN}-preview.localhost:${listening.port}`,
    apiHost: `localhost:${listening.port}`,
    apiRequests,
    touched,
    answered,
    logged,
    upgrades: () => upgrades,
    dials: () => dials,
  };
}

/** The equivalent of a sandbox's `dial`, on loopback. */
export async function dialLoopback(target: Pick<PreviewTarget, 'targetPort'>): Promise<Duplex> {
  const socket = connect({ port: target.targetPort, host: '127.0.0.1', allowHalfOpen: true });
  try {
    await once(socket, 'connect');
  } catch (cause) {
    throw new PortholeError('nothing_listens', `Nothing listens on port ${target.targetPort}.`, { cause });
  }
  return socket;
}

/** An HTTP server on loopback with Node's most lenient parser: the easiest target for smuggling. */
export async function startApp(
  handler: (req: IncomingMessage, res: ServerResponse) => void,
): Promise<Listener & { readonly server: Server }> {
  const server = createHttpServer({ insecureHTTPParser: true }, handler);
  return { ...(await listen(server)), server };
}

/** A TCP server on loopback that acts like a hostile app. */
export async function startTcp(handler: (socket: Socket) => void, allowHalfOpen = false): Promise<Listener> {
  const server = createServer({ allowHalfOpen }, (socket) => {
    socket.on('error', () => socket.destroy());
    handler(socket);
  });
  return listen(server);
}

/**
 * A TCP server that answers every request head with `bytes`, and closes the connection if `end` is
 * set.
 */
export async function startCanned(
  bytes: string | Buffer,
  end = false,
): Promise<Listener & { readonly heads: string[] }> {
  const heads: string[] = [];
  const listener = await startTcp((socket) => {
    let text = '';
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1');
      for (let at = text.indexOf('\r\n\r\n'); at >= 0; at = text.indexOf('\r\n\r\n')) {
        heads.push(text.slice(0, at));
        text = text.slice(at + 4);
        if (end) socket.end(bytes);
        else socket.write(bytes);
      }
    });
  });
  return { ...listener, heads };
}

/**
 * Sends bytes on a separate connection; resolves with all received data when the other side closes
 * it.
 */
export async function sendRaw(port: number, ...parts: (string | Buffer)[]): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let answer = '';
  socket.on('data', (data: Buffer) => {
    answer += data.toString('latin1');
  });
  // A reset after the response also counts as a close.
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  for (const part of parts) {
    await new Promise((resolve) => {
      socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part, resolve);
    });
  }
  await closed;
  return answer;
}

/** A connection driven step by step. */
export interface RawClient {
  readonly socket: Socket;
  send(bytes: string | Buffer): void;
  /**
   * Resolves with all data received so far once it contains `text`; rejects if the connection
   * closes first.
   */
  until(text: string): Promise<string>;
  /** Resolves with all received data once the connection is closed. */
  readonly closed: Promise<string>;
}

export async function openRaw(port: number): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  socket.on('end', () => socket.end());
  let received = '';
  socket.on('data', (data: Buffer) => {
    received += data.toString('latin1');
  });
  socket.on('error', () => undefined);
  const closed = once(socket, 'close').then(() => received);
  await once(socket, 'connect');
  return {
    socket,
    send(bytes) {
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    },
    async until(text) {
      while (!received.includes(text)) {
        if (socket.closed) throw new Error(`closed before ${JSON.stringify(text)} came: ${received}`);
        await Promise.race([once(socket, 'data'), closed]);
      }
      return received;
    },
    closed,
  };
}

/**
 * Resolves once `figure` is positive and unchanged for two polls: no event reports when all buffers
 * on the way are full.
 */
export async function standsStill(figure: () => number): Promise<number> {
  let before = 0;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = figure();
    if (now > 0 && now === before) return now;
    before = now;
  }
}

/** The status codes of the responses in `text`, in order. */
export function statusesOf(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}

/** One request on a separate connection: the parsed response with its whole body. */
export async function fetchRaw(
  port: number,
  host: string,
  path = '/',
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
  body = '',
): Promise<{ status: number; headers: Record<string, string>; body: string; raw: string }> {
  const lines = Object.entries({ Host: host, Connection: 'close', ...headers }).map(
    ([k, v]) => `${k}: ${v}\r\n`,
  );
  const raw = await sendRaw(port, `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  const split = raw.indexOf('\r\n\r\n');
  const [, ...fields] = raw.slice(0, split).split('\r\n');
  return {
    status: statusesOf(raw)[0] ?? 0,
    headers: Object.fromEntries(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 2),
      ]),
    ),
    body: raw.slice(split + 4),
    raw,
  };
}

export async function listen(server: Server | TcpServer): Promise<Listener> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** A port without a listener. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
