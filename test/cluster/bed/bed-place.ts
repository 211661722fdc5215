import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Which bed: its run folder, which holds all its state, and its number, which its addresses come from. */
export interface BedPlace {
  readonly runFolder: string;
  readonly number: number;
}

/**
 * The bed that `npm run cluster:up` brings up and suites use. `PORTHOLE_CLUSTER_DIR` moves its run folder;
 * `PORTHOLE_CLUSTER_NUMBER` gives it other addresses, for a second bed beside the first.
 */
export function sharedBed(env: NodeJS.ProcessEnv = process.env): BedPlace {
  const own = env['PORTHOLE_CLUSTER_DIR'];
  const runFolder = own ? resolve(own) : join(tmpdir(), 'porthole-cluster');
  return { runFolder, number: Number(env['PORTHOLE_CLUSTER_NUMBER'] ?? 0) };
}
