import { randomBytes } from 'node:crypto';
import { closeSync, openSync, renameSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

const NAME = 'init.sock';

/** What fits into a socket's address: 108 bytes with its closing zero, 104 on macOS. */
const LONGEST = process.platform === 'darwin' ? 103 : 107;

/**
 * Calls `use` with a path to `name` that fits into a socket's address: through a descriptor of the folder where the real one
 * is too long. The folder stays open until `done` is called.
 */
function reach<T>(folder: string, name: string, use: (path: string, done: () => void) => T): T {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= LONGEST) return use(path, () => {});
  const descriptor = openSync(folder, 'r');
  let open = true;
  return use(`/proc/self/fd/${descriptor}/${name}`, () => {
    if (open) closeSync(descriptor);
    open = false;
  });
}

/**
 * Opens the socket that an init will listen on. It lies in a folder that is never shown inside a sandbox, and the init gets its
 * descriptor: so nothing inside can put another file, or a link to another socket of the host, in its place.
 */
export function openInitSocket(folder: string): Promise<Server> {
  const fresh = `${NAME}.${randomBytes(4).toString('hex')}`;
  return new Promise((resolve, reject) => {
    reach(folder, fresh, (path, done) => {
      const server = createServer();
      server.once('error', (error) => {
        done();
        reject(error);
      });
      server.listen(path, () => {
        done();
        // Closing a server removes its path. Under its second name the socket outlives this process.
        renameSync(join(folder, fresh), join(folder, NAME));
        resolve(server);
      });
    });
  });
}

/** Connects to a sandbox's init. @throws the system's error when nobody listens */
export function connectToInit(folder: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    reach(folder, NAME, (path, done) => {
      const socket = connect({ path, allowHalfOpen: true });
      const failed = (error: Error): void => {
        done();
        reject(error);
      };
      socket.once('error', failed);
      socket.once('connect', () => {
        done();
        socket.off('error', failed);
        resolve(socket);
      });
    });
  });
}
