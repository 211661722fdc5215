import { UsageError } from './command.ts';

/** @throws UsageError */
export function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new UsageError(`a port is a whole number from 1 to 65535, got ${JSON.stringify(text.slice(0, 40))}.`);
}
