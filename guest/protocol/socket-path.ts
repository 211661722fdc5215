import { closeSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';

/** Longest path in a socket address: 108 bytes with its closing zero, 104 on macOS. */
const LONGEST = process.platform === 'darwin' ? 103 : 107;

/**
 * A path to a socket that fits into a socket address: through a descriptor of its folder if the
 * path is too long. Call `done` once the socket is bound or connected.
 */
export function shortSocketPath(path: string): { readonly path: string; readonly done: () => void } {
  if (Buffer.byteLength(path) <= LONGEST) return { path, done: () => {} };
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
