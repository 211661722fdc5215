/** The socket through which the sandbox's own commands reach its guest; the host never uses it. */
import { once } from 'node:events';
import { chmodSync, closeSync, openSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { dirname, join } from 'node:path';

/** Environment variable of every command: the path of the socket. */
export const SOCKET_VARIABLE = 'PORTHOLE_GUEST';

/** Longest path in a socket address: 108 bytes with its closing zero, 104 on macOS. */
const LONGEST = process.platform === 'darwin' ? 103 : 107;

export function insideSocket(state: string): string {
  return join(state, 'guest.sock');
}

/**
 * A path to a socket that fits into a socket address: through a descriptor of its folder if the
 * path is too long. Call `done` once the socket is bound or connected.
 */
export function shortSocketPath(path: string): { readonly path: string; readonly done: () => void } {
  if (Buffer.byteLength(path) <= LONGEST) return { path, done: () => {} };
  const descriptor = openSync(dirname(path), 'r');
  let isOpen = true;
  return {
    path: `/proc/self/fd/${descriptor}/${path.slice(dirname(path).length + 1)}`,
    done: () => {
      if (isOpen) closeSync(descriptor);
      isOpen = false;
    },
  };
}

/**
 * Only the sandbox's user may connect. If it fails, e.g. on a full file system, the guest works
 * without it.
 */
export async function listenInside(server: Server, path: string): Promise<void> {
  try {
    // An earlier guest has left it behind.
    rmSync(path, { recursive: true, force: true });
    const short = shortSocketPath(path);
    try {
      server.listen(short.path);
      await once(server, 'listening');
    } finally {
      short.done();
    }
    chmodSync(path, 0o600);
  } catch (error) {
    process.stderr.write(`porthole-guest: no commands from inside: ${(error as Error).message}\n`);
  }
}
