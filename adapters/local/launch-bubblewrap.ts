import { dropRoot } from './drop-root.ts';
import { FILTER, type Launcher, SHARE, sharedOf } from './launch.ts';
import { INSIDE } from './runtime-files.ts';
import { PROC_READ_ONLY, sandboxView, type ViewEntry } from './sandbox-view.ts';
import { socketFilter } from './socket-filter.ts';

function flags(entry: ViewEntry): string[] {
  if (entry.kind === 'link') return ['--symlink', entry.to, entry.at];
  if (entry.kind === 'memory') {
    return ['--perms', entry.mode, '--size', String(entry.mebibytes * 2 ** 20), '--tmpfs', entry.at];
  }
  return [entry.writable ? '--bind' : '--ro-bind', entry.from, entry.at];
}

/** Between the two: shares the folders and gives up the right to. The inner one insists on having none. */
const BETWEEN = `${SHARE}
exec setpriv --ambient-caps=-all --inh-caps=-all -- "$@"`;

/**
 * Two bubblewraps, one in the other. The outer one owns the network namespace and shows the whole host; only the inner one is the
 * sandbox. The inner one's parent process stays between the two, out of the sandbox's reach, and lets the dialer in. As
 * the network belongs to the outer user namespace, nothing inside can change it. The inner one takes its flags from a descriptor, so
 * that its command line, which shows inside as that of pid 1, stays short. Where things lie on the host is no secret:
 * /proc/self/mountinfo tells it all the same.
 */
export const launchBubblewrap: Launcher = (plan) => {
  const { egress } = plan;
  const outer = ['bwrap', '--unshare-user', '--unshare-net', '--cap-add', 'CAP_SYS_ADMIN'];
  if (egress !== undefined) outer.push('--cap-add', 'CAP_NET_ADMIN');
  outer.push('--dev-bind', '/', '/', '--', 'sh', '-c');
  outer.push(...(egress === undefined ? [BETWEEN, 'sh'] : [`${FILTER}${BETWEEN}`, 'sh', egress]));
  const filter = socketFilter(process.arch);
  const filtered = filter === undefined ? [] : ['--seccomp', '5'];
  const shown = ['bwrap', '--args', '4', ...filtered, '--', ...plan.command];
  const { argv, sources } = dropRoot(plan, (sources) => {
    const shared = Object.values(sharedOf(sources) ?? {}) as string[];
    return [...outer, ...shared, '--', ...shown];
  });
  const shared = sharedOf(sources);
  const inner = ['--unshare-user', '--uid', String(INSIDE.uid), '--gid', String(INSIDE.gid)];
  inner.push('--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--cap-drop', 'ALL');
  inner.push('--hostname', plan.id.slice(0, 63), '--die-with-parent', '--new-session', '--clearenv');
  inner.push('--proc', '/proc');
  for (const name of PROC_READ_ONLY) inner.push('--ro-bind-try', `/proc/${name}`, `/proc/${name}`);
  inner.push('--dev', '/dev');
  for (const entry of sandboxView(sources, egress !== undefined)) inner.push(...flags(entry));
  inner.push('--chdir', '/', '--remount-ro', '/dev', '--remount-ro', '/');
  return {
    argv,
    input: inner.map((flag) => `${flag}\0`).join(''),
    ...(filter === undefined ? {} : { filter }),
    dialer: { node: sources.node, runtime: sources.runtime },
    ...(shared === undefined ? {} : { shared }),
  };
};
