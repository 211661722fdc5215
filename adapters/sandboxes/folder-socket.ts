import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, closeSync, openSync, renameSync } from 'node:fs';
import { connect, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

/** Longest path in a socket address: 108 bytes with its closing zero, 104 on macOS. */
const LONGEST = process.platform === 'darwin' ? 103 : 107;

/**
 * Calls `use` with a path to `name` that fits into a socket address: through a descriptor of the
 * folder if the real path is too long. The folder stays open until `done` is called.
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

export interface SocketRights {
  /** The uid and gid that may connect, in addition to the host's own. @default the host's */
  readonly owner?: number | undefined;
  /**
   * Lets every user connect who can reach the folder: its parents must keep all but the sandbox
   * out. @default false
   */
  readonly everybody?: boolean | undefined;
}

/**
 * Makes a server listen on a socket in a folder. Replaces an existing socket: an earlier process
 * may have left it behind. Resolves once it accepts connections.
 */
export function listenInFolder(
  server: Server,
  folder: string,
  name: string,
  { owner, everybody = false }: SocketRights = {},
): Promise<void> {
  const fresh = `${name}.${randomBytes(4).toString('hex')}`;
  return new Promise((resolve, reject) => {
    reach(folder, fresh, (path, done) => {
      const failed = (error: Error): void => {
        done();
        reject(error);
      };
      server.once('error', failed);
      server.listen(path, () => {
        server.off('error', failed);
        done();
        try {
          chmodSync(join(folder, fresh), everybody ? 0o666 : 0o600);
          if (owner !== undefined) chownSync(join(folder, fresh), owner, owner);
          // Closing a server removes its path. After the rename the socket outlives this process.
          renameSync(join(folder, fresh), join(folder, name));
          resolve();
        } catch (error) {
          server.close();
          reject(error);
        }
      });
    });
  });
}

/** Connects to a socket in a folder. @throws the system's error if nothing listens */
export function connectInFolder(folder: string, name: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    reach(folder, name, (path, done) => {
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
