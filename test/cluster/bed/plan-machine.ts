import { join } from 'node:path';
import { type BedPlan, INSIDE } from './bed-plan.ts';
import { components } from './components.ts';
import { KERNEL_SETTINGS } from './configurations.ts';
import type { MachinePlan, SetupCommand } from './machine-plan.ts';

/** Folders of the run folder that are put in the place of the host's own. */
export const COVERED = { 'var-lib': '/var/lib', 'var-log': '/var/log', tmp: '/tmp' } as const;

export interface BedFolders {
  readonly run: string;
  readonly programs: string;
}

/** What the first process of a bed does, from its numbers, its folders and the images to import. */
export function planMachine(bed: BedPlan, folders: BedFolders, imageFiles: readonly string[]): MachinePlan {
  return {
    setup: [...network(bed), ...mounts(folders)],
    components: components(bed, imageFiles),
    env: {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: INSIDE.scratch,
      TMPDIR: INSIDE.scratch,
    },
    // Where Kubernetes' host-path provisioner makes volumes; it cannot be told another place.
    openedFolder: '/tmp/hostpath_pv',
  };
}

/** One link between host and bed, made from inside: when the bed's network goes, both ends go with it. */
function network(bed: BedPlan): SetupCommand[] {
  const inner = 'eth0';
  const ip = (...argv: string[]): SetupCommand => ({ argv: ['ip', ...argv] });
  const hostIp = (...argv: string[]): SetupCommand => ({ argv: ['ip', ...argv], host: true });
  const peer = ['peer', 'name', bed.hostLink, 'netns', '/proc/self/fd/3'];
  return [
    ip('link', 'set', 'lo', 'up'),
    ip('link', 'add', inner, 'type', 'veth', ...peer),
    ip('address', 'add', `${bed.nodeAddress}/24`, 'dev', inner),
    ip('link', 'set', inner, 'up'),
    hostIp('address', 'add', `${bed.hostAddress}/24`, 'dev', bed.hostLink),
    hostIp('link', 'set', bed.hostLink, 'up'),
    hostIp('route', 'add', bed.podRange, 'via', bed.nodeAddress),
  ];
}

/**
 * Covers every folder of the host that a component insists on writing to. The run folder and the programs get paths
 * of their own first, because one of the covered folders may be what they lie in.
 */
function mounts(folders: BedFolders): SetupCommand[] {
  const mount = (...argv: string[]): SetupCommand => ({ argv: ['mount', '--no-mtab', ...argv] });
  const newRun = join(folders.run, 'run');
  const within = (path: string): string => path.replace('/run', newRun);
  return [
    mount('-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', newRun),
    { argv: ['mkdir', ...Object.values(INSIDE).map(within)] },
    mount('--bind', folders.run, within(INSIDE.run)),
    mount('--bind', folders.programs, within(INSIDE.programs)),
    mount('--move', newRun, '/run'),
    ...Object.entries(COVERED).map(([name, path]) => mount('--bind', `${INSIDE.run}/${name}`, path)),
    mount('--bind', `${INSIDE.run}/config/hosts`, '/etc/hosts'),
    ...Object.keys(KERNEL_SETTINGS).map((name) =>
      mount('--bind', `${INSIDE.run}/kernel/${name}`, `/proc/sys/${name}`),
    ),
    // As systemd leaves it: volumes may ask for mounts that spread.
    mount('--make-rshared', '/'),
  ];
}
