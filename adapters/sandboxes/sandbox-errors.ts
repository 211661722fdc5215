import { PortholeError } from '#core/errors.ts';

/** The connection to a sandbox does not do what it must. */
export function transportError(id: string, what: string, cause?: unknown): PortholeError {
  return new PortholeError('exec_transport_error', `Sandbox ${id}: ${what}. Try again.`, { cause });
}

export function sandboxNotFound(id: string): PortholeError {
  return new PortholeError(
    'sandbox_not_found',
    `Sandbox ${id.slice(0, 200)}: there is none. List the sandboxes, or create one.`,
  );
}

export function sandboxNotRunning(id: string, reason: string, cause?: unknown): PortholeError {
  return new PortholeError('sandbox_not_running', `Sandbox ${id} does not run: ${reason}.`, { cause });
}

/** What a caller gets for a port that refuses on both addresses. */
export function nothingListens(id: string, port: number): PortholeError {
  return new PortholeError(
    'nothing_listens',
    `Nothing listens on port ${port} in sandbox ${id}. Start a server there, on 127.0.0.1, ::1 or all addresses.`,
  );
}

/** @throws PortholeError `invalid_port` */
export function checkPort(port: number): void {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return;
  throw new PortholeError('invalid_port', `Port ${port}: must be a whole number from 1 to 65535.`);
}
