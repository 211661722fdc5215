import { PortholeError } from '#base/errors.ts';
import { SANDBOX_ID } from '#core/sandboxes/sandbox-owner.ts';
import type { SandboxSize } from '#core/sandboxes/sandbox-provider.ts';

/** A connection to a sandbox that failed or broke the protocol. */
export function transportError(id: string, what: string, cause?: unknown): PortholeError {
  return new PortholeError('exec_transport_error', `Sandbox ${id}: ${what}.`, {
    remedy: 'Try again.',
    cause,
  });
}

export function sandboxNotFound(id: string): PortholeError {
  return new PortholeError('sandbox_not_found', `Sandbox ${id.slice(0, 200)} does not exist.`, {
    remedy: 'List the sandboxes, or create one.',
  });
}

export function sandboxNotRunning(id: string, reason: string, cause?: unknown): PortholeError {
  return new PortholeError('sandbox_not_running', `Sandbox ${id} does not run: ${reason}.`, { cause });
}

/** The error for a port that refuses on both addresses. */
export function nothingListens(id: string, port: number): PortholeError {
  return new PortholeError('nothing_listens', `Nothing listens on port ${port} in sandbox ${id}.`, {
    remedy: 'Start a server there, on 127.0.0.1, ::1 or all addresses.',
  });
}

/** @throws PortholeError `invalid_port` */
export function checkPort(port: number): void {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return;
  throw new PortholeError('invalid_port', `Port ${port}: must be a whole number from 1 to 65535.`);
}

/** @throws PortholeError `invalid_request` */
export function checkSandboxId(id: string): void {
  if (SANDBOX_ID.test(id)) return;
  throw new PortholeError(
    'invalid_request',
    `Sandbox id ${id.slice(0, 200)}: must be 1 to 128 characters of a-z and 2-7.`,
  );
}

export function isSandboxId(id: string): boolean {
  return SANDBOX_ID.test(id);
}

/** @param why what is missing here, and how to fix it */
export function networkNotSupported(why: string): PortholeError {
  return new PortholeError('network_not_supported', `Network access isn't available: ${why}.`, {
    remedy: 'Retry with network: false.',
  });
}

/**
 * @throws PortholeError `resources_not_supported` if more is requested than a sandbox may have here
 */
export function checkAtMost(asked: Partial<SandboxSize> | undefined, most: SandboxSize): void {
  const fields = [
    ['cpu', 'cpu'],
    ['memoryMb', 'memory_mb'],
    ['diskMb', 'disk_mb'],
  ] as const;
  const tooMuch = fields.flatMap(([key, name]) => {
    const value = asked?.[key] ?? 0;
    return value > most[key] ? [`resources.${name} ${value} is more than the ${most[key]}`] : [];
  });
  if (tooMuch.length === 0) return;
  throw new PortholeError('resources_not_supported', `${tooMuch.join(', ')} that a sandbox can have here`, {
    remedy: 'ask for less.',
  });
}
