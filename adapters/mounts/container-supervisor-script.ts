import { SUPERVISOR_PRELUDE } from './supervisor-prelude.ts';

/**
 * The mount supervisor of a bucket in a container, as root: only root may mount there. Arguments:
 * numbers of the calls setns, capset, prctl, umount2, unshare, mount and sendmsg, the pid of the
 * container's first process, `make` if the script may create the path's folders, a folder of the
 * container, the path below it, the mount's name and attributes, user and group of its files, the
 * user that s3fs runs as, the seconds until it must be mounted, and s3fs with its arguments.
 * Without s3fs it only removes the mount of a killed supervisor. Descriptor 3 is the container's
 * mount namespace. It
 * - opens /dev/fuse and enters the container's mounts, where it runs no program and loads no
 *   module: files there are not trusted,
 * - keeps only the capabilities to mount, to traverse folders of other users, and to end s3fs,
 * - walks to the path without following a link, and attaches the mount to the very folder that it
 *   found,
 * - makes s3fs serve the file system. s3fs stays among the host's files as an ordinary user without
 *   capabilities. Its library asks fusermount for a file system, and finds our program in its
 *   place, in a separate namespace.
 */
export const CONTAINER_SUPERVISOR_SCRIPT = String.raw`
use strict; use warnings; use Fcntl; use Errno qw(EEXIST ENOTCONN); use POSIX ':sys_wait_h';
my ($setns, $capset, $prctl, $umount, $unshare, $mount, $sendmsg, $holder, $make, $root, $path, $name, $attributes, $uid, $gid, $owner, $patience, @s3fs) = @ARGV;
my ($target, @gone, @made);
sub fail { my $why = $!; give_back(); $! = $why; print STDERR "keeper: $_[0]: $!\n"; exit 3 }
${SUPERVISOR_PRELUDE}
$^F = 255;
umask 022;
# By its number the process could be another one by now; by its mounts it is this one.
my $life = syscall(434, $holder + 0, 0);
$life >= 0 or fail('pidfd');
(readlink("/proc/$holder/ns/mnt") // '') eq readlink('/proc/self/fd/3') or fail('holder');
push @gone, $life;

my ($fuse, $begin, $go, $server);
if (@s3fs) {
  sysopen($fuse, '/dev/fuse', O_RDWR) or fail('open /dev/fuse');
  pipe($begin, $go) or fail('pipe');
  $server = child(sub {
    close $go;
    sysread($begin, my $word, 1) or POSIX::_exit(1);
    close $begin; POSIX::close($_) for 3, $life;
    serve(fileno $fuse);
  });
}

sub serve {
  my ($fd) = @_;
  my ($none, $slash, $tmpfs, $empty) = ('none', '/', 'tmpfs', 'mode=0755,size=1m');
  syscall($unshare + 0, 0x20000) == 0 or fail('unshare');
  syscall($mount + 0, $none, $slash, 0, 0x4000 | 0x40000, 0) == 0 or fail('private mounts');
  # What lies there on the host is not needed by s3fs.
  my ($own) = grep { -d } '/mnt', '/media', '/srv';
  syscall($mount + 0, $tmpfs, $own, $tmpfs, 2 | 4, $empty) == 0 or fail('own folder');
  my $program = "$own/fusermount";
  open(my $file, '>', $program) or fail('own program');
  print $file fusermount($fd);
  close $file;
  chmod 0755, $program;
  my @theirs = ('/bin/fusermount', '/usr/bin/fusermount3');
  for (grep { -e } @theirs) {
    syscall($mount + 0, $program, $_, 0, 0x1000, 0) == 0 or fail('own program');
  }
  $ENV{PATH} = "$own:$ENV{PATH}";
  $target = "$own/bucket";
  mkdir $target and chown $owner, $owner, $target or fail('own folder');
  $) = "$owner $owner";
  POSIX::setgid($owner) and POSIX::setuid($owner) or fail('become another user');
  # Such a change of rights undoes it.
  end_together();
  syscall($prctl + 0, 38, 1, 0, 0, 0) == 0 or fail('no new privileges');
  become_s3fs();
}

# A message of one byte, with the descriptor beside it: struct msghdr and struct cmsghdr of 64-bit Linux.
sub fusermount {
  my ($fd) = @_;
  return <<"END";
#!$^X
exit 0 if !defined \$ENV{_FUSE_COMMFD};
my (\$byte, \$beside) = ("\\0", pack('Q l l l x4', 20, 1, 1, $fd));
my \$parts = pack('P Q', \$byte, 1);
my \$message = pack('Q L x4 P Q P Q l x4', 0, 0, \$parts, 1, \$beside, length \$beside, 0);
exit(syscall($sendmsg, \$ENV{_FUSE_COMMFD} + 0, \$message, 0) == 1 ? 0 : 1);
END
}

syscall($setns + 0, 3, 0x20000) == 0 or fail('setns');
POSIX::close(3);
@INC = ();
my $kept = 1 << 1 | 1 << 5 | 1 << 21;
my ($head, $sets) = (pack('LL', 0x20080522, 0), pack('L6', $kept, $kept, 0, 0, 0, 0));
syscall($capset + 0, $head, $sets) == 0 or fail('capset');
syscall($prctl + 0, 38, 1, 0, 0, 0) == 0 or fail('no new privileges');

# The container's /proc does not know this process: a folder is entered instead of named by its descriptor.
my @walked;
sub hold {
  my ($to, $what) = @_;
  if ($make && @walked) {
    !@s3fs or mkdir $to, 0755 or $! == EEXIST or fail('make folder');
    # There before, it was left by a keeper that was killed, or another bucket is in it and it stays.
    push @made, [$walked[-1], $to];
  }
  my ($next, $how) = (undef, 010000000 | O_DIRECTORY | O_NOFOLLOW);
  return $next if sysopen($next, $to, $how);
  # A keeper that was killed has left its mount, which nobody serves any more.
  syscall($umount + 0, $to, 2 | 8) if $! == ENOTCONN;
  sysopen($next, $to, $how) or fail("open $what");
  return $next;
}
sub descend { my ($to, $what) = @_; push @walked, hold($to, $what); chdir $walked[-1] or fail("open $what") }
my @parts = split m{/}, $path;
my $last = pop @parts;
descend($root, $make ? 'mounts' : 'root');
descend($_, 'folder') for @parts;
my ($above, $isMounted) = ($walked[-1], 0);
my $folder = hold($last, 'mount path');
sub mounted { $isMounted }
sub unmount {
  if ($isMounted) { chdir $above; syscall($umount + 0, $last, 2 | 8) }
  give_back();
}
sub give_back { while (my $one = pop @made) { chdir $one->[0] and rmdir $one->[1] } }
if (!@s3fs) { give_back(); exit 0 }
# By a child, because another bucket may be here, whose server keeps silent.
sub is_empty {
  my $pid = child(sub {
    chdir $folder and opendir(my $list, '.') or POSIX::_exit(1);
    for (readdir $list) { POSIX::_exit(1) if !/^\.\.?\z/ }
    POSIX::_exit(0);
  });
  for (1 .. 200) {
    return $? == 0 if waitpid($pid, WNOHANG) == $pid;
    select(undef, undef, undef, 0.01);
  }
  kill 'KILL', $pid;
  return 0;
}
if (!is_empty()) { $! = 0; fail('the folder is not empty') }

my ($type, $nothing) = ('fuse', '');
my $fs = syscall(430, $type, 1);
$fs >= 0 or fail('fsopen');
sub configure { my ($command, $key, $value) = @_; syscall(431, $fs, $command, $key, $value, 0) == 0 or fail('fsconfig') }
my %settings = (source => $name, fd => '' . fileno $fuse, rootmode => '40000', user_id => $owner, group_id => $owner);
for my $key (sort keys %settings) { my ($k, $v) = ("$key", "$settings{$key}"); configure(1, $k, $v) }
my $flag = 'allow_other';
configure(0, $flag, 0);
configure(6, 0, 0);
my $tree = syscall(432, $fs, 1, $attributes + 0);
$tree >= 0 or fail('fsmount');
syscall(429, $tree, $nothing, fileno $folder, $nothing, 4 | 64) == 0 or fail('move_mount');
$isMounted = 1;
POSIX::close($_) for $fs, $tree;
close $fuse; close $begin;
syswrite($go, 'x'); close $go;
sub look {
  chdir $above and opendir(my $list, $last) or POSIX::_exit(1);
  $! = 0;
  my $first = readdir($list);
  POSIX::_exit(defined $first && !$! ? 0 : 1);
}
keep($server);
`;
