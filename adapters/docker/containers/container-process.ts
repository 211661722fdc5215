import { readdir, readFile } from 'node:fs/promises';
import { identify, type ProcessIdentity } from '#adapters/local/process-identity.ts';

/**
 * The first process of a container, as this process counts; undefined where it sees none. The engine's own number for it is not asked for: it counts from the engine's
 * place, which may be another machine.
 */
export async function containerProcess(containerId: string): Promise<ProcessIdentity | undefined> {
  if (process.platform !== 'linux') return undefined;
  let found: { readonly pid: number; readonly levels: number } | undefined;
  for (const pid of await readdir('/proc')) {
    const levels = /^\d+$/.test(pid) ? await levelsOfFirst(pid, containerId) : undefined;
    // Namespaces within the container have first processes, too.
    if (levels !== undefined && levels < (found?.levels ?? Infinity)) found = { pid: Number(pid), levels };
  }
  return found === undefined ? undefined : identify(found.pid);
}

/** How many namespaces deep a process is that belongs to the container and is the first of its namespace. */
async function levelsOfFirst(pid: string, containerId: string): Promise<number | undefined> {
  try {
    if (!(await readFile(`/proc/${pid}/cgroup`, 'latin1')).includes(containerId)) return undefined;
    const status = await readFile(`/proc/${pid}/status`, 'latin1');
    const [, numbers = ''] = /^NSpid:\t(.*)$/m.exec(status) ?? [];
    const levels = numbers.split('\t');
    return levels.length > 1 && levels.at(-1) === '1' ? levels.length : undefined;
  } catch {
    // It has just ended.
    return undefined;
  }
}
