import { once } from 'node:events';
import { chmodSync, chownSync, closeSync, openSync, renameSync } from 'node:fs';
import { connect, type Server, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';

/** Longest path in a socket address: 108 bytes with its closing zero, 104 on macOS. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;

/**
 * A path to a socket that fits into a socket address: through a descriptor of its folder if the
 * path is too long. Call `done` once the socket is bound or connected.
 */
function shortSocketPath(path: string): { readonly path: string; readonly done: () => void } {
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return { path, done: () => {} };
  const descriptor = openSync(dirname(path), 'r');
  let isOpen = true;
  return {
    path: `/proc/self/fd/${descriptor}/${basename(path)}`,
    done: () => {
      if (isOpen) closeSync(descriptor);
      isOpen = false;
    },
  };
}

/** Connects to a socket, also by a long path. @throws the system's error without its folder */
export function connectToPath(path: string, allowHalfOpen = false): Socket {
  const short = shortSocketPath(path);
  const socket = connect({ path: short.path, allowHalfOpen });
  return socket.once('connect', short.done).once('error', short.done);
}

export interface SocketRights {
  /** The uid and gid that may connect besides the listener's own. @default the listener's */
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
export async function listenInFolder(
  server: Server,
  folder: string,
  name: string,
  { owner, everybody = false }: SocketRights = {},
): Promise<void> {
  const fresh = join(folder, `${name}.${Math.random().toString(36).slice(2)}`);
  const short = shortSocketPath(fresh);
  try {
    server.listen(short.path);
    await once(server, 'listening');
  } finally {
    short.done();
  }
  try {
    chmodSync(fresh, everybody ? 0o666 : 0o600);
    if (owner !== undefined) chownSync(fresh, owner, owner);
    // Closing a server removes its path. After the rename the socket outlives this process.
    renameSync(fresh, join(folder, name));
  } catch (error) {
    server.close();
    throw error;
  }
}
