import { PortholeError } from '#base/errors.ts';
import { ConfigError } from '#protocol/settings/read-environment.ts';
import { DataFolderError } from './data-folder.ts';

/** Why this process could not start, for a person at the terminal. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof DataFolderError) return error.message;
  const { code, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${address} is taken. Free it, or start Porthole on another one: PORT=${(port ?? 8787) + 1} npm start`;
  if (code === 'EACCES' && port !== undefined)
    return `Port ${port} needs more rights than this user has. Choose one above 1023: PORT=8787 npm start`;
  if (error instanceof PortholeError) {
    return `Porthole could not start: ${error.message}${reasonOf(error.cause)}`;
  }
  return `Porthole could not start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/** In parentheses; empty without a cause. A connection that tried several addresses has several. */
function reasonOf(cause: unknown): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error ? ` (${first.message})` : '';
}
