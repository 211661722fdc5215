import { dropRoot } from './drop-root.ts';
import { findCallsAddon } from '#base/foreign-calls.ts';
import { boundInotify } from './kernel-bounds.ts';
import { FIRST, type Launcher, SHARE, spareFolder } from './launch.ts';
import { INSIDE } from './runtime-files.ts';
import { INSIDE_PATHS, PROC_READ_ONLY, sandboxView, type ViewEntry } from './sandbox-view.ts';
import { systemCallFilter } from './system-call-filter.ts';

/**
 * In the outer user namespace, which owns the network: shares the folders, brings `lo` up with the
 * machine's tools, then starts the sandbox and ends with it. It closes its copy of the guest's
 * listening descriptor: otherwise connecting to a dead guest would hang.
 */
const OUTER = `node=$1; runtime=$2; shift 2
${SHARE}
ip link set lo up 2>/dev/null ||
"$node" --disable-sigusr1 --disable-warning=ExperimentalWarning "$runtime/guest/launch-helper.mts" loopback ||
{ echo "install iproute2" >&2; exit 1; }
setpriv --pdeathsig KILL -- "$@" &
exec 3<&-
wait $!`;

/**
 * Builds the sandbox's file system and enters it. Runs as root of the inner user namespace, which
 * may only mount. Keeps the one capability that the kernel requires to create a namespace in which
 * this root is an ordinary user.
 */
const INNER = `set -e
at=$1; host=$2; shift 2
read_only() {
  mount -o remount,bind,ro,nosuid "$1" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev "$1" 2>/dev/null ||
    mount -o remount,bind,ro,nosuid,nodev,noexec "$1"
}
show() {
  if [ -d "$1" ]; then mkdir -p "$at$2"; else mkdir -p "$at\${2%/*}"; : >"$at$2"; fi
  mount --rbind "$1" "$at$2"
}
mount --make-rslave /
mount -t tmpfs -o mode=0755 tmpfs "$at"
mkdir "$at/proc" "$at/dev"
mount -t proc -o nosuid,nodev,noexec proc "$at/proc"
hostname "$host"
mount -t tmpfs -o mode=0755 tmpfs "$at/dev"
for name in null zero full random urandom tty; do show "/dev/$name" "/dev/$name"; done
mkdir "$at/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$at/dev/pts"
ln -s pts/ptmx "$at/dev/ptmx"
ln -s /proc/self/fd "$at/dev/fd"
ln -s /proc/self/fd/0 "$at/dev/stdin"
ln -s /proc/self/fd/1 "$at/dev/stdout"
ln -s /proc/self/fd/2 "$at/dev/stderr"
for name in ${PROC_READ_ONLY.join(' ')}; do
  if [ -e "$at/proc/$name" ]; then mount --bind "$at/proc/$name" "$at/proc/$name"; read_only "$at/proc/$name"; fi
done
while [ "$1" != -- ]; do
  case $1 in
    ro) show "$2" "$3"; read_only "$at$3" ;;
    rw) show "$2" "$3" ;;
    link) mkdir -p "$at\${3%/*}"; ln -s "$2" "$at$3" ;;
    memory) mkdir -p "$at$3"; mount -t tmpfs -o "$2,nosuid,nodev" tmpfs "$at$3" ;;
  esac
  shift 3
done
shift
mkdir "$at/.host"
cd "$at"
pivot_root . .host
cd /
umount -l /.host
rmdir /.host
mount -o remount,bind,ro,nosuid /dev
mount -o remount,bind,ro,nosuid,nodev /
exec setpriv --no-new-privs --bounding-set=-all,+setfcap --inh-caps=-all -- "$@"`;

/**
 * The sandbox's user has one more namespace below this one. Further namespaces would give root's
 * rights over seldom used kernel code.
 */
const NO_USER_NAMESPACES = 'echo 1 2>/dev/null >/proc/sys/user/max_user_namespaces\n';

/** For a start in the least time. */
const HELPER_FLAGS = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', '--v8-pool-size=0'];

function line(entry: ViewEntry): string[] {
  if (entry.kind === 'link') return ['link', entry.to, entry.at];
  if (entry.kind === 'memory') return ['memory', `mode=${entry.mode},size=${entry.mebibytes}m`, entry.at];
  return [entry.writable ? 'rw' : 'ro', entry.from, entry.at];
}

/**
 * The same sandbox as bubblewrap's, through util-linux, for machines without bubblewrap. Most
 * releases of util-linux cannot set a seccomp filter, so a helper does.
 */
export const launchUnshare: Launcher = (plan) => {
  const { userNamespaces = false } = plan;
  const outside = `${boundInotify()}${OUTER}`;
  const inside = `${userNamespaces ? '' : NO_USER_NAMESPACES}${INNER}`;
  const filter = findCallsAddon() === undefined ? undefined : systemCallFilter(process.arch, userNamespaces);
  const filtered = filter === undefined ? [] : [INSIDE.node, ...HELPER_FLAGS, INSIDE_PATHS.helper, 'filter'];
  const { argv, sources } = dropRoot(plan, (sources, taken) => {
    const at = spareFolder([...Object.values(sources as unknown as Record<string, string>), ...taken]);
    const { node, runtime, workspace, mounts } = sources;
    const outer = 'unshare --user --map-root-user --net --mount -- sh -c'.split(' ');
    outer.push(outside, 'sh', node, runtime, workspace, mounts, '--');
    const inner = `unshare --user --map-root-user --mount --propagation slave --pid --ipc --uts --cgroup
      --fork --kill-child -- sh -c`.split(/\s+/);
    inner.push(inside, 'sh', at, plan.id.slice(0, 63));
    inner.push(...sandboxView(sources, plan.memoryMb).flatMap(line), '--', 'setsid', 'sh', '-c', FIRST, 'sh');
    const user = ['unshare', '--user', `--map-user=${INSIDE.uid}`, `--map-group=${INSIDE.gid}`, '--'];
    return [...outer, ...inner, ...user, ...filtered, ...plan.command];
  });
  const shared = { workspace: sources.workspace, mounts: sources.mounts };
  return { argv, newKeyring: true, filter, shared };
};
