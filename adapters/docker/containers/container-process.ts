import { readdirSync, readFileSync } from 'node:fs';
import { identify, type ProcessIdentity } from '#adapters/local/process-identity.ts';

/**
 * The first process of a container, as this process counts; undefined where it sees none. The engine's own number for it is not asked for: it counts from the engine's
 * place, which may be another machine.
 */
export function containerProcess(containerId: string): ProcessIdentity | undefined {
  if (process.platform !== 'linux') return undefined;
  const first = readdirSync('/proc').flatMap((pid) => {
    const levels = /^\d+$/.test(pid) ? levelsOfFirst(pid, containerId) : undefined;
    return levels === undefined ? [] : [{ pid: Number(pid), levels }];
  });
  // Namespaces within the container have first processes, too.
  const [found] = first.toSorted((one, other) => one.levels - other.levels);
  return found === undefined ? undefined : identify(found.pid);
}

/** How many namespaces deep a process is that belongs to the container and is the first of its namespace. */
function levelsOfFirst(pid: string, containerId: string): number | undefined {
  try {
    if (!readFileSync(`/proc/${pid}/cgroup`, 'latin1').includes(containerId)) return undefined;
    const [, numbers = ''] = /^NSpid:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    const levels = numbers.split('\t');
    return levels.length > 1 && levels.at(-1) === '1' ? levels.length : undefined;
  } catch {
    // It has just ended.
    return undefined;
  }
}
