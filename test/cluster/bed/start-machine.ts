import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { BedPlace } from './bed-place.ts';
import { bedPlan } from './bed-plan.ts';
import type { Report } from './build-program.ts';
import { makeCgroups } from './cgroups.ts';
import { furnishRunFolder } from './furnish-run-folder.ts';
import { LOG_FOLDER } from './machine-plan.ts';
import { machineArguments, machineProcesses } from './machine-processes.ts';
import { isOther, takeDown } from './take-down.ts';

/** Starts a bed's machine in a new run folder, after the end of whatever was left of that bed. */
export async function startMachine(place: BedPlace, programs: string, report: Report): Promise<void> {
  const other = machineProcesses().find((process) => isOther(process, place));
  if (other !== undefined) {
    throw new Error(`bed ${place.number} is up already in ${other.runFolder}: end it there first`);
  }
  const bed = bedPlan(place.number);
  await takeDown(place);
  report('writing keys, configuration and images');
  await furnishRunFolder(place.runFolder, bed, programs);
  makeCgroups(bed.cgroup);
  const hostNetwork = openSync('/proc/self/ns/net', 'r');
  const log = openSync(join(place.runFolder, LOG_FOLDER, 'machine.log'), 'a');
  const namespaces = [
    '--mount',
    '--net',
    '--pid',
    '--ipc',
    '--uts',
    '--mount-proc',
    '--fork',
    '--kill-child',
  ];
  // The first process in a namespace inherits orphans, such as containerd's shims. A shell collects them; Node cannot.
  const collect = ['sh', '-c', '"$@" & wait $!', 'sh'];
  const machine = [process.execPath, ...machineArguments(place.number, place.runFolder)];
  const child = spawn('unshare', [...namespaces, ...collect, ...machine], {
    cwd: place.runFolder,
    detached: true,
    stdio: ['ignore', log, log, hostNetwork],
  });
  const spawned = new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.unref();
  closeSync(hostNetwork);
  closeSync(log);
  await spawned;
}
