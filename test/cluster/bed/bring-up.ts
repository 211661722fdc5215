import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, watch } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BUSYBOX_IMAGE } from './bed-images.ts';
import type { BedPlace } from './bed-place.ts';
import { type BedPlan, bedPlan } from './bed-plan.ts';
import { buildProgram, type Report } from './build-program.ts';
import { makeCgroups } from './cgroups.ts';
import { exclusive } from './exclusive.ts';
import { adminKubeconfig, furnishRunFolder } from './furnish-run-folder.ts';
import { bedKubectl, type Kubectl } from './kubectl.ts';
import { LOG_FOLDER, type MachineStatus, STATUS_FILE } from './machine-plan.ts';
import { machineArguments, machineProcesses } from './machine-processes.ts';
import { machineMissing } from './machine-missing.ts';
import { BED_GATEWAY } from './objects.ts';
import { buildName, programsFolder } from './program-cache.ts';
import { PROGRAMS } from './programs.ts';
import { isOther, takeDown } from './take-down.ts';

/** What the machine lacks; each problem names its remedy. */
export class BedMissing extends Error {}

/** Written last, with the names of the builds: a bed that has this file has served, and by these programs. */
const SERVED_FILE = 'served';

/** Milliseconds after which a machine that reports neither success nor failure is given up. */
const PATIENCE_MS = 180_000;

/** Whether a bed is up, has served, and is of today's programs. */
export function isUp({ runFolder }: BedPlace): boolean {
  return served(runFolder) === builds() && readStatus(runFolder)?.phase === 'running' && carries(runFolder);
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
    const bed = bedPlan(place.number);
    // One that has served is here because it has failed since, or is of other programs.
    const startsStill = carries(place.runFolder) && served(place.runFolder) === undefined;
    if (!startsStill || readStatus(place.runFolder)?.phase === 'failed') {
      await startMachine(place, bed, programsFolder(cache), report);
    }
    await machineRuns(place.runFolder, report);
    await serves(bedKubectl(adminKubeconfig(place.runFolder), place.runFolder, cache), bed, report);
    await writeFile(join(place.runFolder, SERVED_FILE), builds());
  });
}

function carries(runFolder: string): boolean {
  return machineProcesses().some((process) => process.runFolder === runFolder);
}

async function startMachine(place: BedPlace, bed: BedPlan, programs: string, report: Report): Promise<void> {
  const other = machineProcesses().find((process) => isOther(process, place));
  if (other !== undefined) {
    throw new Error(`bed ${place.number} is up already in ${other.runFolder}: end it there first`);
  }
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

function readStatus(runFolder: string): MachineStatus | undefined {
  const file = join(runFolder, STATUS_FILE);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as MachineStatus) : undefined;
}

/** Resolves when the machine says that all its components run; throws with its own words when it fails or ends. */
async function machineRuns(runFolder: string, report: Report): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const reported = new Set<string>();
  const look = (): void => {
    const status = readStatus(runFolder);
    for (const name of status?.ready ?? []) {
      if (!reported.has(name)) report(`  ${name}`);
      reported.add(name);
    }
    if (status?.phase === 'running') resolve();
    if (status?.phase === 'failed')
      reject(new Error(`${status.problem}\nlogs: ${join(runFolder, LOG_FOLDER)}`));
  };
  report('starting the components');
  const watcher = watch(runFolder, look);
  // Nothing writes a status when the machine itself is ended.
  const pulse = setInterval(() => {
    if (!carries(runFolder)) reject(new Error(`the machine has ended; logs: ${join(runFolder, LOG_FOLDER)}`));
  }, 1_000);
  const patience = setTimeout(
    () => reject(new Error(`the components do not run after ${PATIENCE_MS / 1_000} s`)),
    PATIENCE_MS,
  );
  try {
    look();
    await promise;
  } finally {
    watcher.close();
    clearInterval(pulse);
    clearTimeout(patience);
  }
}

/** Resolves when the node is ready, the Gateway is programmed, and a pod has run to its end. */
async function serves(kubectl: Kubectl, bed: BedPlan, report: Report): Promise<void> {
  const wait = async (object: string, condition: string, namespace = 'default'): Promise<void> => {
    await kubectl(['wait', object, `--for=${condition}`, `--namespace=${namespace}`, '--timeout=120s']);
  };
  const run = async (): Promise<void> => {
    await wait('serviceaccount/default', 'create');
    await kubectl(['apply', '--filename=-'], JSON.stringify(firstPod));
    await wait(`pod/${firstPod.metadata.name}`, 'jsonpath={.status.phase}=Succeeded');
    await kubectl(['delete', 'pod', firstPod.metadata.name, '--now', '--wait=false']);
    report('a pod has run');
  };
  const node = async (): Promise<void> => {
    await wait(`node/${bed.nodeName}`, 'create');
    await wait(`node/${bed.nodeName}`, 'condition=Ready');
    report('the node is ready');
  };
  const gateway = async (): Promise<void> => {
    await wait(`gateway/${BED_GATEWAY.name}`, 'condition=Programmed', BED_GATEWAY.namespace);
    report('the Gateway is programmed');
  };
  await Promise.all([run(), node(), gateway()]);
}

const firstPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'first' },
  spec: {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    containers: [{ name: 'first', image: BUSYBOX_IMAGE, command: ['true'] }],
  },
};
