/** The socket through which the sandbox's own commands reach its guest; the host never uses it. */
import { once } from 'node:events';
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { dirname, join } from 'node:path';
import { shortSocketPath } from './protocol/socket-path.ts';

/** Environment variable of every command: the path of the socket. */
export const SOCKET_VARIABLE = 'PORTHOLE_GUEST';

export function insideSocket(state: string): string {
  return join(state, 'guest.sock');
}

/**
 * Only the sandbox's user may connect. If it fails, e.g. on a full file system, the guest works
 * without it.
 */
export async function listenInside(server: Server, path: string): Promise<void> {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
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
