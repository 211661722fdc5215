import { PortholeError } from '#core/errors.ts';

/** The connection to a sandbox does not do what it must. */
export function transportError(id: string, what: string, cause?: unknown): PortholeError {
  return new PortholeError('exec_transport_error', `Sandbox ${id}: ${what}. Try again.`, { cause });
}
