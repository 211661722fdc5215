import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, renameSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import { connectToPath, shortSocketPath } from '#guest/protocol/socket-path.ts';

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
  const fresh = join(folder, `${name}.${randomBytes(4).toString('hex')}`);
  return new Promise((resolve, reject) => {
    const { path, done } = shortSocketPath(fresh);
    const failed = (error: Error): void => {
      done();
      reject(error);
    };
    server.once('error', failed);
    server.listen(path, () => {
      server.off('error', failed);
      done();
      try {
        chmodSync(fresh, everybody ? 0o666 : 0o600);
        if (owner !== undefined) chownSync(fresh, owner, owner);
        // Closing a server removes its path. After the rename the socket outlives this process.
        renameSync(fresh, join(folder, name));
        resolve();
      } catch (error) {
        server.close();
        reject(error);
      }
    });
  });
}

/** Connects to a socket in a folder. @throws the system's error if nothing listens */
export async function connectInFolder(folder: string, name: string): Promise<Socket> {
  const socket = connectToPath(join(folder, name), true);
  await once(socket, 'connect');
  return socket;
}
