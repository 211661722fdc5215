import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BedPlace } from './bed-place.ts';
import { bedPlan } from './bed-plan.ts';
import { buildProgram, type Report } from './build-program.ts';
import { exclusive } from './exclusive.ts';
import { adminKubeconfig } from './furnish-run-folder.ts';
import { bedKubectl } from './kubectl.ts';
import { machineMissing } from './machine-missing.ts';
import { isCarried } from './machine-processes.ts';
import { machineRuns, readStatus } from './machine-runs.ts';
import { buildName, programsFolder } from './program-cache.ts';
import { PROGRAMS } from './programs.ts';
import { serves } from './serves.ts';
import { startMachine } from './start-machine.ts';

/** What the machine lacks; each problem names its remedy. */
export class BedMissing extends Error {}

/** Written last, with the names of the builds: a bed that has this file has served, and by these programs. */
const SERVED_FILE = 'served';

/** Whether a bed is up, has served, and is of today's programs. */
export function isUp({ runFolder }: BedPlace): boolean {
  return served(runFolder) === builds() && readStatus(runFolder)?.phase === 'running' && isCarried(runFolder);
}

function builds(): string {
  return PROGRAMS.map(buildName).join(' ');
}

function served(runFolder: string): string | undefined {
  const file = join(runFolder, SERVED_FILE);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/**
 * Brings a bed up: node ready, Gateway programmed, a pod has run. Does what is left to do: nothing where it is up;
 * the rest where an earlier call was interrupted; all of it, builds included, on a new machine.
 */
export async function bringUp(place: BedPlace, cache: string, report: Report): Promise<void> {
  const missing = machineMissing(cache);
  if (missing.length > 0) throw new BedMissing(missing.join('\n'));
  await exclusive(cache, report, async () => {
    if (isUp(place)) return report(`the bed in ${place.runFolder} is up`);
    for (const program of PROGRAMS) await buildProgram(program, cache, report);
    // One that has served is here because it has failed since, or is of other programs.
    const startsStill = isCarried(place.runFolder) && served(place.runFolder) === undefined;
    if (!startsStill || readStatus(place.runFolder)?.phase === 'failed') {
      await startMachine(place, programsFolder(cache), report);
    }
    await machineRuns(place.runFolder, report);
    await serves(
      bedKubectl(adminKubeconfig(place.runFolder), place.runFolder, cache),
      bedPlan(place.number),
      report,
    );
    await writeFile(join(place.runFolder, SERVED_FILE), builds());
  });
}
