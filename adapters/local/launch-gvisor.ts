import { dropRoot } from './drop-root.ts';
import { FIRST, type Launcher, type LaunchPlan, spareFolder } from './launch.ts';
import { INSIDE } from './runtime-files.ts';
import { sandboxView, type Sources, type ViewEntry } from './sandbox-view.ts';

/**
 * As root of a user and pid namespace: makes the bundle in memory, then starts runsc as an ordinary
 * user. runsc maps that one user into the sandbox, without newuidmap. The end of the first process
 * ends all others.
 */
const BUNDLE = `set -e
at=$1; runsc=$2; shift 2
mount -t proc -o nosuid,nodev,noexec proc /proc
mount -t tmpfs -o mode=0755 tmpfs "$at"
mkdir "$at/root" "$at/state"
while [ "$1" != -- ]; do mkdir -p "$at/root\${2%/*}"; ln -s "$1" "$at/root$2"; shift 2; done
cd "$at"
cat <&4 >config.json
exec 4<&-
shift
exec unshare --user --map-user=${INSIDE.uid} --map-group=${INSIDE.gid} -- \
  "$runsc" --root="$at/state" --platform=systrap --network=none --host-uds=all --ignore-cgroups --overlay2=none \
  --directfs=false "$@" --bundle="$at" sandbox`;

/**
 * A user-space kernel (gVisor) handles the sandbox's system calls. Its network has only `lo`.
 * Sockets in shown folders are the host's: those of the guest and of the channel. A separate
 * process opens the files (`directfs=false`): gVisor's kernel reaches none itself, and could not
 * open folders that their owner has closed.
 */
export const launchGvisor: Launcher = (plan) => {
  let view: readonly ViewEntry[] = [];
  let at = '';
  const { argv } = dropRoot(plan, (sources, taken) => {
    at = spareFolder([...Object.values(sources as unknown as Record<string, string>), ...taken]);
    view = sandboxView(sources, plan.memoryMb);
    const links = view.flatMap((entry) => (entry.kind === 'link' ? [entry.to, entry.at] : []));
    const outer = 'unshare --user --map-root-user --net --mount --pid --fork --kill-child -- sh -c'.split(
      ' ',
    );
    const { image } = sources;
    const begin = image === undefined ? ['run'] : ['restore', `--image-path=${image}`];
    return [...outer, BUNDLE, 'sh', at, runscOf(sources), ...links, '--', ...begin];
  });
  return { argv, newKeyring: true, input: JSON.stringify(bundleOf(plan, `${at}/root`, view)) };
};

function runscOf({ runsc }: Sources): string {
  if (runsc === undefined) throw new Error('runsc is not installed');
  return runsc;
}

/**
 * Shell: keeps pid 1 as Linux keeps it in a pid namespace. gVisor ends it at a signal, and with it
 * the sandbox: `pkill -f node` matches its command line.
 */
const KEEP_FIRST = 'trap : HUP INT QUIT TERM USR1 USR2';

/** An OCI runtime configuration. */
function bundleOf({ id, command }: LaunchPlan, root: string, view: readonly ViewEntry[]) {
  const { uid, gid } = INSIDE;
  const sameUser = (inside: number) => [{ containerID: inside, hostID: inside, size: 1 }];
  return {
    ociVersion: '1.2.0',
    process: {
      user: { uid, gid },
      args: ['/bin/sh', '-c', `${KEEP_FIRST}; ${FIRST}`, 'sh', ...command],
      cwd: '/',
      noNewPrivileges: true,
    },
    root: { path: root, readonly: true },
    hostname: id.slice(0, 63),
    mounts: [{ destination: '/proc', type: 'proc', source: 'proc' }, ...view.flatMap(mountOf)],
    linux: {
      uidMappings: sameUser(uid),
      gidMappings: sameUser(gid),
      namespaces: ['user', 'pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
    },
  };
}

function mountOf(entry: ViewEntry) {
  if (entry.kind === 'link') return [];
  if (entry.kind === 'show') {
    const options = ['rbind', entry.writable ? 'rw' : 'ro'];
    return [{ destination: entry.at, type: 'bind', source: entry.from, options }];
  }
  const { uid, gid } = INSIDE;
  const options = [`mode=${entry.mode}`, `size=${entry.mebibytes}m`, `uid=${uid}`, `gid=${gid}`];
  return [{ destination: entry.at, type: 'tmpfs', source: 'tmpfs', options }];
}
