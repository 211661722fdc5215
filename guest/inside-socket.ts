/** The socket through which the sandbox's own commands reach its guest; the host never uses it. */
import { mkdirSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { listenInFolder } from '../base/socket-path.ts';

/** Environment variable of every command: the path of the socket. */
export const SOCKET_VARIABLE = 'PORTHOLE_GUEST';

const NAME = 'guest.sock';

export function insideSocket(state: string): string {
  return join(state, NAME);
}

/**
 * Only the sandbox's user may connect. If it fails, e.g. on a full file system, the guest works
 * without it.
 */
export async function listenInside(server: Server, state: string): Promise<void> {
  try {
    mkdirSync(state, { recursive: true, mode: 0o700 });
    // The sandbox's code may have put a folder in its place.
    rmSync(insideSocket(state), { recursive: true, force: true });
    await listenInFolder(server, state, NAME);
  } catch (error) {
    process.stderr.write(`porthole-guest: no commands from inside: ${(error as Error).message}\n`);
  }
}
