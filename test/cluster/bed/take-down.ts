import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { bedPlan } from './bed-plan.ts';
import type { BedPlace } from './bed-place.ts';
import { cgroupsAreEmpty, removeCgroups } from './cgroups.ts';
import { command } from './command.ts';
import { isAlive, type MachineProcess, machineProcesses } from './machine-processes.ts';

const PATIENCE_MS = 30_000;

/**
 * Ends a bed, whatever state it is in, and removes all it left: processes, link, cgroups, run folder. Its mounts,
 * containers and other devices end with its first process. Does nothing where there is no bed.
 */
export async function takeDown({ runFolder, number }: BedPlace): Promise<void> {
  const { cgroup, hostLink } = bedPlan(number);
  const all = machineProcesses();
  const ours = all.filter((process) => process.runFolder === runFolder);
  for (const { pid } of ours) kill(pid);
  await until('processes of the bed', () => !ours.some(isAlive));
  // Another bed of that number, in another run folder, keeps what is named after the number.
  if (!all.some((process) => isOther(process, { runFolder, number }))) {
    await until('processes in the cgroups of the bed', () => cgroupsAreEmpty(cgroup));
    removeCgroups(cgroup);
    await removeLink(hostLink);
  }
  await rm(runFolder, { recursive: true, force: true, maxRetries: 3 });
}

/** Whether a process carries another bed than this, with this one's number. */
export function isOther(process: MachineProcess, place: BedPlace): boolean {
  return process.number === place.number && process.runFolder !== place.runFolder;
}

/** The kernel removes the link together with the bed's network, but in its own time. */
async function removeLink(name: string): Promise<void> {
  await command(['ip', 'link', 'delete', name]).catch((error: unknown) => {
    if (!String(error).includes('Cannot find device')) throw error;
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The kernel tells nobody but its parent that a process has ended, so this looks again and again. */
async function until(what: string, done: () => boolean): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!done()) {
    if (Date.now() > deadline) throw new Error(`${what} are still there after ${PATIENCE_MS / 1_000} s`);
    await pause(20);
  }
}
