import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestHost } from '#test/support/in-process-host.ts';

/** The state of a host that a refused request must not change. */
export interface Inventory {
  readonly runs: number;
  readonly sandboxes: number;
  readonly previews: number;
  readonly sandboxFolders: number;
  readonly previewFiles: number;
}

export async function inventory({ host, dataDir }: TestHost): Promise<Inventory> {
  const { records, plane } = host.services;
  let previews = 0;
  for await (const _ of plane.list()) previews += 1;
  return {
    runs: (await records.runs.list(undefined, { limit: 1000 })).items.length,
    sandboxes: (await records.sandboxes.live({ limit: 1000 })).items.length,
    previews,
    sandboxFolders: (await readdir(join(dataDir, 'sandboxes'))).length,
    previewFiles: (await readdir(join(dataDir, 'previews'))).length,
  };
}
