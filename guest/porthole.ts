/** `porthole`: the command in sandboxes (`command/`), and the relay that hosts start in them. */
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
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
    carry(stream, path, TRIES);
  });
  server.emit('connection', Duplex.from({ readable: process.stdin, writable: process.stdout }));
}

function carry(stream: ServerHttp2Stream, path: string, tries: number): void {
  const socket = connect({ path, allowHalfOpen: true });
  const failed = (): void => {
    if (stream.destroyed) return;
    if (tries > 1) setTimeout(() => carry(stream, path, tries - 1), PAUSE_MS);
    else stream.respond({ ':status': 502 }, { endStream: true });
  };
  socket.once('error', failed);
  socket.once('connect', () => {
    socket.off('error', failed);
    socket.once('error', () => stream.destroy());
    if (stream.destroyed) socket.destroy();
    else {
      stream.respond({ ':status': 200 });
      stream.once('close', () => socket.destroy());
      stream.pipe(socket).pipe(stream);
    }
  });
}

const [command, argument] = process.argv.slice(2);
if (command === 'relay' && argument !== undefined) relayGuest(argument.replace(/^@/, '\0'));
else {
  // Loaded on demand: a long-lived relay does not need it.
  const { runCommand } = await import('./command/run-guest-command.ts');
  process.exitCode = await runCommand(process.argv.slice(2), process.env);
}
