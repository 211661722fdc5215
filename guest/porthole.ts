/** `porthole`: the command in sandboxes (`command/`), and the relay that hosts start in them. */
import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { retry } from '../base/retry.ts';
import { RELAY_SESSION, RELAY_WINDOW } from '../protocol/guest/http-protocol.ts';

/** The guest may be starting: retries while nothing listens, with this pause in milliseconds. */
const TRIES = 500;
const PAUSE_MS = 20;

/**
 * Carries connections to the guest over this process's stdin and stdout, if the host cannot reach
 * its socket: an engine runs it in the container. HTTP/2 on both: each CONNECT is a connection,
 * with its own flow control and half-close. Ends with the host.
 * @param path of the guest's socket
 */
export function relayGuest(path: string): void {
  const server = createServer(RELAY_SESSION);
  server.on('session', (session) => {
    session.setLocalWindowSize(RELAY_WINDOW);
    session.on('error', () => {});
    session.once('close', () => process.exit(0));
  });
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    void carry(stream, path);
  });
  server.emit('connection', Duplex.from({ readable: process.stdin, writable: process.stdout }));
}

async function carry(stream: ServerHttp2Stream, path: string): Promise<void> {
  const delay = (_: unknown, tries: number) => (stream.destroyed || tries === TRIES ? undefined : PAUSE_MS);
  const socket = await retry(() => connected(path), { delay }).catch(() => undefined);
  socket?.once('error', () => stream.destroy());
  if (stream.destroyed) socket?.destroy();
  else if (socket === undefined) stream.respond({ ':status': 502 }, { endStream: true });
  else {
    stream.respond({ ':status': 200 });
    stream.once('close', () => socket.destroy());
    stream.pipe(socket).pipe(stream);
  }
}

async function connected(path: string): Promise<Socket> {
  const socket = connect({ path, allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

const [command, argument] = process.argv.slice(2);
if (command === 'relay' && argument !== undefined) relayGuest(argument.replace(/^@/, '\0'));
else {
  // Loaded on demand: a long-lived relay does not need it.
  const { runCommand } = await import('./command/run-guest-command.ts');
  process.exitCode = await runCommand(process.argv.slice(2), process.env);
}
