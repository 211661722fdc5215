import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Of a line of proc_pid_mountinfo(5): the folder within its file system that is mounted. */
const ROOT_FIELD = 3;

/**
 * Kills the processes of sandboxes with files below a folder: sandboxes outlive a host that was
 * killed, and one that is busy would slow down all that follows. Returns how many.
 * @param name of the folder, which no other path has
 */
export function endLeftovers(name: string): number {
  const own = readlinkSync('/proc/self/ns/mnt');
  let ended = 0;
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      if (readlinkSync(`/proc/${pid}/ns/mnt`) === own) continue;
      const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n');
      if (!mounts.some((line) => line.split(' ')[ROOT_FIELD]?.includes(`/${name}/`))) continue;
      process.kill(Number(pid), 'SIGKILL');
      ended += 1;
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return ended;
}
