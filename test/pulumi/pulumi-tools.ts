import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { Missing } from '#test/support/suite.ts';
import { missing } from '../cluster/fixture/cluster.ts';
import { buildName, cacheFolder, isBuilt, programsFolder } from '../cluster/fixture/program-cache.ts';
import { CLIENTS } from '../cluster/fixture/programs.ts';

/** Why Pulumi's command line cannot be run, with the remedy. */
export function pulumiMissing(): Missing {
  const built = CLIENTS.every((program) => isBuilt(program, cacheFolder()));
  return built ? undefined : "Pulumi's command line is not built: npm run cluster:up";
}

/** Why no stack can be brought up on the test cluster, with the remedy. */
export function stacksMissing(): Missing {
  return missing() ?? pulumiMissing();
}

/** Fills a folder with Pulumi's programs and a language host; returns a `PATH` with it. */
export function toolsPath(folder: string): string {
  for (const program of CLIENTS) {
    const build = join(programsFolder(cacheFolder()), buildName(program), program.name);
    symlinkSync(build, join(folder, program.name));
  }
  const host = join(folder, 'pulumi-language-nodejs');
  const source = join(import.meta.dirname, 'language-host.ts');
  writeFileSync(host, `#!/bin/sh\nexec '${process.execPath}' '${source}' "$@"\n`);
  chmodSync(host, 0o755);
  return [folder, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
}
