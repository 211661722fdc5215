import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dropRoot } from './drop-root.ts';
import { boundInotify } from './kernel-bounds.ts';
import { type Launcher, SHARE } from './launch.ts';
import { INSIDE } from './runtime-files.ts';
import { PROC_READ_ONLY, sandboxView, type ViewEntry } from './sandbox-view.ts';
import { SYSTEM_PATH } from './spawn-sandbox.ts';
import { systemCallFilter } from './system-call-filter.ts';

function flags(entry: ViewEntry): string[] {
  if (entry.kind === 'link') return ['--symlink', entry.to, entry.at];
  if (entry.kind === 'memory') {
    return ['--perms', entry.mode, '--size', String(entry.mebibytes * 2 ** 20), '--tmpfs', entry.at];
  }
  return [entry.writable ? '--bind' : '--ro-bind', entry.from, entry.at];
}

/**
 * Whether bwrap can disable user namespaces (from 0.8 on). It refuses to start where it cannot
 * write the kernel's limit. The seccomp filter refuses new namespaces in any case.
 */
function canDisableUserNamespaces(): boolean {
  known ??=
    spawnSync('bwrap', ['--help'], { encoding: 'utf8', env: SYSTEM_PATH }).stdout.includes(
      '--disable-userns',
    ) && !/^\S+ \S+ \S+ \S+ \/proc(\/sys)? ro\b/m.test(readFileSync('/proc/self/mountinfo', 'utf8'));
  return known;
}

let known: boolean | undefined;

/**
 * Between the two: shares the folders, then starts the inner bubblewrap without ambient
 * capabilities. It maps root of its parent, which takes CAP_SETFCAP of the bounding set.
 */
const BETWEEN = `${SHARE}
exec setpriv --ambient-caps=-all --inh-caps=-all -- "$@"`;

/**
 * Two nested bubblewraps. The outer one owns the network namespace and shows the whole host; only
 * the inner one is the sandbox. The outer one has a root, who can mount buckets there with the
 * machine's tools. The inner one's parent process stays between the two, out of the
 * sandbox's reach. The network belongs to the outer user namespace, so nothing inside can change
 * it. The inner one takes its flags from a descriptor, so that its command line, visible inside as
 * that of pid 1, stays short. Host paths are not secret: /proc/self/mountinfo shows them anyway.
 */
export const launchBubblewrap: Launcher = (plan) => {
  const { userNamespaces = false } = plan;
  // Besides mounts: to set limits of its namespace, and to map its root into the inner one
  // (user_namespaces(7)).
  const capabilities = ['CAP_SYS_ADMIN', 'CAP_SYS_RESOURCE', 'CAP_SETFCAP'];
  const outer = 'bwrap --unshare-user --uid 0 --gid 0 --unshare-net'.split(' ');
  outer.push(...capabilities.flatMap((each) => ['--cap-add', each]));
  outer.push('--dev-bind', '/', '/', '--', 'sh', '-c', `${boundInotify()}${BETWEEN}`, 'sh');
  const filter = systemCallFilter(process.arch, userNamespaces);
  const filtered = filter === undefined ? [] : ['--seccomp', '5'];
  const shown = ['bwrap', '--args', '4', ...filtered, '--', ...plan.command];
  const { argv, sources } = dropRoot(plan, (sources) => [
    ...outer,
    sources.workspace,
    sources.mounts,
    '--',
    ...shown,
  ]);
  const inner = `--unshare-user --uid ${INSIDE.uid} --gid ${INSIDE.gid} --unshare-pid --unshare-ipc
    --unshare-uts --unshare-cgroup-try --cap-drop ALL --die-with-parent --new-session --clearenv`.split(
    /\s+/,
  );
  inner.push('--hostname', plan.id.slice(0, 63));
  if (!userNamespaces && canDisableUserNamespaces()) inner.push('--disable-userns');
  inner.push('--proc', '/proc');
  for (const name of PROC_READ_ONLY) inner.push('--ro-bind-try', `/proc/${name}`, `/proc/${name}`);
  inner.push('--dev', '/dev');
  for (const entry of sandboxView(sources, plan.memoryMb)) inner.push(...flags(entry));
  inner.push('--chdir', '/', '--remount-ro', '/dev', '--remount-ro', '/');
  return {
    argv,
    newKeyring: true,
    input: inner.map((flag) => `${flag}\0`).join(''),
    filter,
    shared: { workspace: sources.workspace, mounts: sources.mounts },
  };
};
