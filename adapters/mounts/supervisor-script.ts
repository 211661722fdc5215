import { SUPERVISOR_PRELUDE } from './supervisor-prelude.ts';

/**
 * Perl, because it makes system calls and is on every Debian. Arguments: what to do to the mount table (numbers of the calls setns, capset, prctl and
 * umount2 on this architecture), a folder, the path below it, a name for the mount, the seconds it may take to be there, and s3fs with its arguments; without those
 * it only unmounts.
 * Descriptors 3 and 4 are the user and the mount namespace to work in. It
 * - enters them, keeps of all capabilities the one to mount with, and hands that on to s3fs,
 * - walks to the path without following a link, and holds on to the folder above: whatever its names lead to later, this is where the mount is.
 */
export const SUPERVISOR_SCRIPT = String.raw`
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
