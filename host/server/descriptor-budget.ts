import { readFileSync } from 'node:fs';

/** Where the limit is unknown: what macOS gives a process. */
const USUAL_LIMIT = 10_240;
/** More connections need more memory than they are worth. */
const MAX_CONNECTIONS = 16_384;

export interface DescriptorBudget {
  /** Of this process: RLIMIT_NOFILE. */
  readonly limit: number;
  /** Connections of clients of the API and of previews. */
  readonly clients: number;
  /** Connections of sandboxes to the channel, and to the broker. */
  readonly sandboxes: number;
}

/**
 * Splits the descriptors of a process. A connection of a client may hold a second one, to a
 * sandbox. The rest is for commands, files and the database.
 */
export function descriptorBudget(limit: number): DescriptorBudget {
  return {
    limit,
    clients: Math.min(MAX_CONNECTIONS, Math.floor(limit / 3)),
    sandboxes: Math.min(MAX_CONNECTIONS, Math.floor(limit / 8)),
  };
}

/** The limit of this process. Node raises the soft limit to the hard one when it starts. */
export function descriptorLimit(): number {
  if (process.platform !== 'linux') return USUAL_LIMIT;
  const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
  return soft === undefined ? USUAL_LIMIT : Number(soft);
}
