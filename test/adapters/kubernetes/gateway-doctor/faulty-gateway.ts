import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { probeArguments } from '#adapters/kubernetes/gateway-doctor/probe-objects.ts';
import { freePort } from '#test/support/free-port.ts';
import { ROUTE_RESPONSE_HEADERS, UPSTREAM_HOST, UPSTREAM_ORIGIN } from '#constructs/names.ts';

const CUT_MS = 500;

export interface Faults {
  readonly keepsHeaders?: boolean;
  readonly refusesUpgrades?: boolean;
  /** Sends an answer when it is whole. */
  readonly buffersAnswers?: boolean;
  /** Ends an answer soon after its first bytes. */
  readonly cutsAnswers?: boolean;
  readonly maxBodyBytes?: number;
}

/** The program of the probe's pod; resolves to its port. */
export async function startProbe(id: string): Promise<{ readonly port: number; close(): void }> {
  const port = await freePort();
  const child = spawn(process.execPath, probeArguments(id, port), { stdio: 'inherit' });
  // It prints nothing: a connection shows that it listens.
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`the probe ended with code ${child.exitCode}`);
    await pause(50);
  }
  return { port, close: () => void child.kill() };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** A gateway with the route of a preview in front of the probe, and with these faults. */
export async function startGateway(
  upstreamPort: number,
  tls: { readonly key: string; readonly cert: string },
  faults: Faults = {},
): Promise<{ readonly port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer(tls, forward);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Socket) => {
    if (faults.refusesUpgrades) return socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    const upstream = connect(upstreamPort, '127.0.0.1');
    sockets.add(upstream);
    for (const each of [socket, upstream]) each.on('error', () => each.destroy());
    const lines = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    upstream.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join('')}\r\n`);
    socket.pipe(upstream).pipe(socket);
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };

  function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { maxBodyBytes = Number.POSITIVE_INFINITY } = faults;
    if (Number(incoming.headers['content-length'] ?? 0) > maxBodyBytes) {
      outgoing.writeHead(413).end();
      return;
    }
    const upstream = request({
      host: '127.0.0.1',
      port: upstreamPort,
      path: incoming.url,
      method: incoming.method,
      headers: faults.keepsHeaders ? incoming.headers : rewritten(incoming),
    });
    upstream.on('error', () => outgoing.destroy());
    upstream.on('response', (answer) => {
      const headers = { ...answer.headers };
      if (!faults.keepsHeaders) {
        delete headers['clear-site-data'];
        for (const [name, value] of Object.entries(ROUTE_RESPONSE_HEADERS))
          headers[name.toLowerCase()] = value;
      }
      outgoing.writeHead(answer.statusCode ?? 0, headers);
      if (!faults.buffersAnswers) outgoing.flushHeaders();
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => {
        if (faults.buffersAnswers) chunks.push(chunk);
        else outgoing.write(chunk);
        if (faults.cutsAnswers) setTimeout(() => outgoing.destroy(), CUT_MS);
      });
      answer.on('end', () => outgoing.end(Buffer.concat(chunks)));
      answer.on('error', () => outgoing.destroy());
    });
    outgoing.on('close', () => upstream.destroy());
    incoming.pipe(upstream);
  }
}

/** The filters of a preview's route. */
function rewritten({ headers }: IncomingMessage): Record<string, string | string[] | undefined> {
  const host = headers.host ?? '';
  const { 'x-forwarded-host': _, ...others } = headers;
  const own = headers.origin === `https://${host}`;
  const origin = own
    ? { origin: UPSTREAM_ORIGIN }
    : { 'x-forwarded-host': host, 'x-forwarded-proto': 'https' };
  return { ...others, host: UPSTREAM_HOST, ...origin };
}
