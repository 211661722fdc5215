import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { cgroupHierarchies } from './cgroups.ts';
import { command } from './command.ts';
import { KERNEL_SETTINGS } from './configurations.ts';
import { identity, type ProcessIdentity } from './machine-processes.ts';

/** Folders outside a run folder that components of a cluster make where nobody keeps them from it. */
const FOLDERS = [
  '/etc/cni',
  '/opt/cni',
  '/opt/containerd',
  '/run/cni',
  '/run/containerd',
  '/run/netns',
  '/tmp/hostpath_pv',
  '/usr/libexec/kubernetes',
  '/var/lib/cni',
  '/var/lib/containerd',
  '/var/lib/kubelet',
  '/var/log/containers',
  '/var/log/pods',
];

/** What a bed could leave on the host, each as sorted lines. */
export interface Traces {
  readonly links: readonly string[];
  readonly routes: readonly string[];
  readonly mounts: readonly string[];
  readonly firewall: readonly string[];
  readonly cgroups: readonly string[];
  readonly folders: readonly string[];
  readonly kernel: readonly string[];
}

/** What there is of it now. What Docker does at the same time is left out. */
export async function traces(): Promise<Traces> {
  const lines = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => line !== '' && !/docker|veth|br-/.test(line))
      .toSorted();
  return {
    links: lines(await command(['ip', '-brief', 'link'])),
    routes: lines(await command(['ip', 'route', 'show', 'table', 'all'])),
    mounts: lines(readFileSync('/proc/self/mountinfo', 'utf8')),
    firewall: lines(await command(['nft', 'list', 'tables'])),
    cgroups: cgroupHierarchies().flatMap((hierarchy) => entries(hierarchy, /porthole-bed/)),
    folders: FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) => [folder, ...entries(folder)]),
    kernel: Object.keys(KERNEL_SETTINGS).map(
      (name) => `${name} ${readFileSync(`/proc/sys/${name}`, 'utf8').trim()}`,
    ),
  };
}

/** Processes of a bed: those in the namespace that its carriers made, and those of its pods. */
export function bedProcesses(carriers: readonly ProcessIdentity[], cgroup: string): ProcessIdentity[] {
  const namespaces = new Set(carriers.map(({ pid }) => processNamespace(pid)));
  // The outermost carrier is still in the host's namespace.
  for (const foreign of ['', processNamespace(process.pid)]) namespaces.delete(foreign);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => namespaces.has(processNamespace(pid)) || cgroupsOf(pid).includes(`/${cgroup}/`))
    .map((pid) => identity(pid));
}

function processNamespace(pid: number): string {
  return orEmpty(() => readlinkSync(`/proc/${pid}/ns/pid`));
}

function cgroupsOf(pid: number): string {
  return orEmpty(() => readFileSync(`/proc/${pid}/cgroup`, 'utf8'));
}

/** The empty text for a process that has ended, or ends just now. */
function orEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

function entries(folder: string, wanted = /^/): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => wanted.test(name))
    .map((name) => `${folder}/${name}`)
    .toSorted();
}
