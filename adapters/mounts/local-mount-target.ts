import { lchownSync, mkdirSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { MountNamespace } from '#adapters/local/mount-namespace.ts';
import { mountFailed } from './mount-failure.ts';
import { folderOf, type MountTarget } from './mount-target.ts';
import { spawnSupervisor } from './spawn-supervisor.ts';
import { SUPERVISOR_PRELUDE } from './supervisor-prelude.ts';

/**
 * Perl, because it makes system calls and is on every Debian. Arguments: numbers of the calls that
 * change the mount table (setns, capset, prctl and umount2 on this architecture), a folder, the
 * path below it, a name for the mount, the seconds until it must be mounted, and s3fs with its
 * arguments. Without s3fs it only unmounts. Descriptors 3 and 4 are the user and the mount
 * namespace. It
 * - enters them, keeps only the capability to mount, and hands it on to s3fs,
 * - walks to the path without following a link, and keeps the parent folder open: the mount stays
 *   there whatever the path leads to later.
 */
const SUPERVISOR_SCRIPT = String.raw`
use strict; use warnings; use Fcntl; use POSIX ':sys_wait_h';
my ($setns, $capset, $prctl, $umount, $root, $path, $name, $patience, @s3fs) = @ARGV;
my ($uid, $gid, $target, @gone);
sub fail { print STDERR "keeper: $_[0]: $!\n"; exit 3 }
${SUPERVISOR_PRELUDE}
# Descriptors stay open for s3fs, which is told their numbers.
$^F = 255;
for my $fd (3, 4) { syscall($setns + 0, $fd, 0) == 0 or fail('setns'); POSIX::close($fd) }
($uid, $gid) = (POSIX::getuid(), POSIX::getgid());
# Nothing is gained by being root in there, or by a set-user-id program; what is gained would also end the bond between s3fs and this process.
syscall($prctl + 0, 28, 15, 0, 0, 0) == 0 or fail('securebits');
syscall($prctl + 0, 38, 1, 0, 0, 0) == 0 or fail('no new privileges');
my $admin = 1 << 21;
my ($head, $sets) = (pack('LL', 0x20080522, 0), pack('L6', $admin, $admin, $admin, 0, 0, 0));
syscall($capset + 0, $head, $sets) == 0 or fail('capset');
syscall($prctl + 0, 47, 2, 21, 0, 0) == 0 or fail('ambient capability');
my @walked;
sub descend {
  my ($to, $what) = @_;
  sysopen(my $next, $to, 010000000 | O_DIRECTORY | O_NOFOLLOW) or fail("open $what");
  push @walked, $next;
  return '/proc/self/fd/' . fileno($next);
}
my @parts = split m{/}, $path;
my $last = pop @parts;
my $above = descend($root, 'root');
$above = descend("$above/$_", 'folder') for @parts;
sub mounted {
  open(my $table, '<', '/proc/self/mountinfo') or fail('mountinfo');
  while (<$table>) { return 1 if / - fuse\S* \Q$name\E / }
  return 0;
}
sub unmount { syscall($umount + 0, "$above/$last", 2 | 8) if mounted() }
if (!@s3fs) { unmount(); exit 0 }
$target = descend("$above/$last", 'mount path');
sub look {
  opendir(my $list, "$above/$last") or POSIX::_exit(1);
  # A server that was refused takes its mount away, and the empty folder below it can be read.
  POSIX::_exit(1) if (stat $list)[0] == (stat $target)[0];
  $! = 0;
  my $first = readdir($list);
  POSIX::_exit(defined $first && !$! ? 0 : 1);
}
keep(child(\&become_s3fs));
`;

/** A folder below one that only Porthole writes to. */
interface Folder {
  readonly root: string;
  readonly path: string;
}

/**
 * A path of a local sandbox, in the user and mount namespace beside it, from where mounts propagate
 * into it. Nothing in it is privileged: s3fs runs as the sandbox's own user on the host, with the
 * right to mount in that namespace only, and the host's own mounts do not change.
 * @throws PortholeError `mount_error`
 */
export function localMountTarget(target: MountNamespace | undefined, mountPath: string): MountTarget {
  if (target === undefined) {
    throw mountFailed(
      'no mount can reach this sandbox: it must run, isolated by bubblewrap or unshare, and be started by this version of Porthole',
    );
  }
  const { holder, owner, folders } = target;
  const { folder: where, path } = folderOf(mountPath, folders);
  const own = where.own === undefined ? undefined : { root: where.own, path };
  if (own !== undefined) makeFolder(own, owner);
  return {
    clear: () => removeFolder(own),
    launch: (name, mount) =>
      spawnSupervisor(
        {
          script: SUPERVISOR_SCRIPT,
          args: ({ setns, capset, prctl, umount2 }) => [
            setns,
            capset,
            prctl,
            umount2,
            where.beside,
            path,
            name,
          ],
          holder,
          namespaces: ['user', 'mnt'],
          owner,
        },
        name,
        mount,
      ),
  };
}

/** s3fs requires that its user owns the folder; the sandbox sees it read-only. */
function makeFolder({ root, path }: Folder, owner: number | undefined): void {
  const folder = join(root, path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
  } catch (cause) {
    throw mountFailed('the path has a part that is too long', cause);
  }
  if (owner !== undefined) lchownSync(folder, owner, owner);
}

/** Also removes parent folders that become empty. */
function removeFolder(folder: Folder | undefined): void {
  if (folder === undefined) return;
  try {
    for (let path = folder.path; path !== '.'; path = dirname(path)) rmdirSync(join(folder.root, path));
  } catch {
    // Another mount has a folder below it.
  }
}
