import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type LaunchPlan, spareFolder } from './launch.ts';
import type { Sources } from './sandbox-view.ts';

/** The last user id, assigned to no account, for machines with few user ids. */
const OVERFLOW_UID = 65_534;

/**
 * Unused by distributions, systemd, container engines and subordinate uids; 16 million of them
 * follow.
 */
const FIRST = 0x7000_0000;
const LAST = FIRST + 0xff_ffff;

/**
 * Whether this user namespace has such a user: in a rootless container there are often 65,536 and
 * no more.
 */
function hasUser(uid: number): boolean {
  const map = readFileSync('/proc/self/uid_map', 'utf8').trim().split('\n');
  return map.some((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
    return uid >= first && uid < first + count;
  });
}

/**
 * The user a sandbox runs as if the host is root: root without capabilities could still write files
 * owned by root, such as /proc/sys. Each sandbox has its own user, because the kernel counts some
 * limits per user. Undefined for an ordinary host: its sandboxes run with the host's own rights.
 */
export function ownerOf(id: string): number | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  if (!hasUser(LAST)) return OVERFLOW_UID;
  return FIRST + createHash('sha256').update(id).digest().readUIntBE(0, 3);
}

/**
 * Mounts files where an ordinary user can reach them: root's own folders are often closed to other
 * users.
 */
const STAGE = `set -e
at=$1; uid=$2; shift 2
mount -t tmpfs -o mode=0755,size=1m tmpfs "$at"
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir "$at/$2"; else : >"$at/$2"; fi
  mount --bind "$1" "$at/$2"
  shift 2
done
shift
cd /
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups --inh-caps=-all -- "$@"`;

/**
 * Turns root's launch into a launch as an ordinary user: `build` gets the new paths of the sources
 * and returns the command line to run as that user.
 */
export function dropRoot(
  plan: LaunchPlan,
  build: (sources: Sources, at: string[]) => string[],
): {
  argv: string[];
  sources: Sources;
} {
  if (plan.owner === undefined) return { argv: build(plan.sources, []), sources: plan.sources };
  const named = Object.entries(plan.sources) as [string, string][];
  const at = spareFolder(named.map(([, path]) => path));
  const sources = Object.fromEntries(named.map(([name]) => [name, `${at}/${name}`])) as unknown as Sources;
  const stage = ['unshare', '--mount', '--', 'sh', '-c', STAGE, 'sh', at, String(plan.owner)];
  const pairs = named.flatMap(([name, path]) => [path, name]);
  return { argv: [...stage, ...pairs, '--', ...build(sources, [at])], sources };
}
