import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { PortholeError } from '#base/errors.ts';
import { childrenOf, identify, isAlive, type ProcessIdentity } from './process-identity.ts';
import { removeCgroup } from './sandbox-cgroup.ts';
import type { StartRecord } from './sandbox-folder.ts';

/**
 * Longest wait for killed processes to exit, in ms; the kernel needs a few, unless a disk hangs.
 */
const PATIENCE = 10_000;

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has exited meanwhile.
  }
}

async function allGone(processes: readonly ProcessIdentity[], patience: number): Promise<boolean> {
  const until = performance.now() + patience;
  while (processes.some(isAlive)) {
    if (performance.now() > until) return false;
    await after(2);
  }
  return true;
}

/**
 * The chain from the outermost process to the sandbox's pid 1: each is the only child of its
 * predecessor. Shorter while the sandbox starts.
 */
export function chainOf(outermost: ProcessIdentity): ProcessIdentity[] {
  const chain = [outermost];
  while (chain.length < 3) {
    const [child] = childrenOf(chain.at(-1) as ProcessIdentity);
    if (child === undefined) break;
    chain.push(child);
  }
  return chain;
}

/** Processes that belong to a sandbox according to their environment; Linux only. */
function marked(id: string): ProcessIdentity[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const environment = readFileSync(`/proc/${name}/environ`, 'latin1').split('\0');
      return environment.includes(`SANDBOX_ID=${id}`) ? (identify(Number(name)) ?? []) : [];
    } catch {
      return [];
    }
  });
}

/**
 * Ends all processes of a sandbox, and resolves once they are gone. With namespaces the end of pid
 * 1 ends all. Without them, the guest ends its process groups, and processes that left them are
 * found by their environment.
 */
export async function endProcesses(id: string, started: StartRecord): Promise<void> {
  const chain = started.isolation === 'none' ? [started.process] : chainOf(started.process);
  if (started.isolation === 'none') {
    if (isAlive(started.process)) kill(started.process.pid, 'SIGTERM');
    if (!(await allGone([started.process], 1000))) kill(started.process.pid, 'SIGKILL');
    for (const one of marked(id)) {
      kill(one.pid, 'SIGKILL');
      chain.push(one);
    }
  } else if (isAlive(started.process)) {
    // The outer processes are one group: a process that is just being forked is killed with it.
    kill(-started.process.pid, 'SIGKILL');
    for (const one of chain.toReversed()) if (isAlive(one)) kill(one.pid, 'SIGKILL');
  }
  if (await allGone(chain, PATIENCE)) {
    await removeCgroup(started.cgroup ?? []);
    return;
  }
  throw new PortholeError(
    'exec_transport_error',
    `Sandbox ${id} does not end: its processes outlast SIGKILL.`,
    { remedy: 'Try again later.' },
  );
}
