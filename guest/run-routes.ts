import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { replacePlain } from './plain-file.ts';
import { RUNS_FOLDER } from './prepare-workspace.ts';
import { runsRequest } from './protocol/runs-protocol.ts';
import { readJson } from './read-json.ts';
import type { Handler, Routes } from './router.ts';

/**
 * `/v1/runs`: a file for each run of the sandbox, readable by its user only. Files of other runs
 * stay. The home folder is in memory: the files are lost with the sandbox's processes.
 * @throws Error if the home folder cannot be written
 */
export function runRoutes(home: string | undefined): Routes<Handler> {
  return {
    'PUT /v1/runs': async (request, response) => {
      const { running, ended } = await readJson(request, runsRequest);
      if (home === undefined) throw new Error('the sandbox has no HOME');
      const folder = join(home, RUNS_FOLDER);
      for (const { id, access } of running) replacePlain(join(folder, id), access);
      for (const id of ended) rmSync(join(folder, id), { force: true });
      response.writeHead(204).end();
    },
  };
}
