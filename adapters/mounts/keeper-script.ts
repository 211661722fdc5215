/**
 * Perl, because it makes system calls and is on every Debian. Arguments: what to do to the mount table (numbers of the calls setns, capset, prctl and
 * umount2 on this architecture), a folder, the path below it, a name for the mount, the seconds it may take to be there, and s3fs with its arguments; without those
 * it only unmounts.
 * Descriptors 3 and 4 are the user and the mount namespace to work in. It
 * - enters them, keeps of all capabilities the one to mount with, and hands that on to s3fs,
 * - walks to the path without following a link, and holds on to the folder above: whatever its names lead to later, this is where the mount is,
 * - says `ready` on stdout once the bucket can be read,
 * - unmounts when s3fs ends or its stdin closes, which it does when the host ends, however that ends.
 * Only a child of its own reads the mount, because whoever does waits for the S3 server.
 */
export const KEEPER = String.raw`
use strict; use warnings; use Fcntl; use POSIX ':sys_wait_h';
my ($setns, $capset, $prctl, $umount, $root, $path, $name, $patience, @s3fs) = @ARGV;
sub fail { print STDERR "keeper: $_[0]: $!\n"; exit 3 }
# Descriptors stay open for s3fs, which is told their numbers.
$^F = 255;
for my $fd (3, 4) { syscall($setns + 0, $fd, 0) == 0 or fail('setns'); POSIX::close($fd) }
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
my $target = descend("$above/$last", 'mount path');
my $own = $$;
sub child {
  my ($run) = @_;
  my $pid = fork() // fail('fork');
  return $pid if $pid;
  syscall($prctl + 0, 1, 9, 0, 0, 0);
  exit 1 if getppid() != $own;
  $run->();
  POSIX::_exit(127);
}
my ($uid, $gid) = (POSIX::getuid(), POSIX::getgid());
my $server = child(sub {
  for (@s3fs) { s/\@UID\@/$uid/g; s/\@GID\@/$gid/g; s/\@TARGET\@/$target/g }
  open(STDIN, '<', '/dev/null'); open(STDOUT, '>&', \*STDERR);
  exec { $s3fs[0] } @s3fs or print STDERR "keeper: exec $s3fs[0]: $!\n";
});
my ($alive, $probe) = (1, 0);
sub finish {
  my ($code) = @_;
  # Detached first: nobody comes in any more, and what s3fs has been given it still writes.
  unmount();
  kill 'TERM', $server if $alive;
  for (1 .. 300) {
    last if !$alive;
    if (waitpid($server, WNOHANG) == $server) { $alive = 0 } else { select(undef, undef, undef, 0.01) }
  }
  if ($alive) { kill 'KILL', $server; waitpid($server, 0) }
  if ($probe) { kill 'KILL', $probe; waitpid($probe, 0) }
  exit $code;
}
$SIG{TERM} = sub { finish(0) };
$SIG{CHLD} = sub { };
my ($stdin, $ready, $refused, $until) = ('', 0, 0, time + $patience);
vec($stdin, 0, 1) = 1;
while (1) {
  while ((my $ended = waitpid(-1, WNOHANG)) > 0) {
    my $code = $?;
    if ($ended == $server) { $alive = 0; finish(4) }
    next if $ended != $probe;
    $probe = 0;
    if ($code == 0) { $ready = 1; syswrite(STDOUT, "ready\n") }
    # It knows why, and says so only as it ends: which it does by itself, or else is made to.
    else { $refused = 1; $until = time + 2 }
  }
  if (!$ready && time > $until) { print STDERR "keeper: late\n" if !$refused; finish(5) }
  if (!$ready && !$probe && !$refused && mounted()) {
    $probe = child(sub {
      opendir(my $list, "$above/$last") or POSIX::_exit(1);
      # A server that was refused takes its mount away, and the empty folder below it can be read.
      POSIX::_exit(1) if (stat $list)[0] == (stat $target)[0];
      $! = 0;
      my $first = readdir($list);
      POSIX::_exit(defined $first && !$! ? 0 : 1);
    });
  }
  my $told = select(my $readable = $stdin, undef, undef, $ready ? 1 : 0.01);
  finish(0) if $told > 0 && !sysread(STDIN, my $word, 64);
}
`;

/** Numbers of the system calls that the keeper makes; undefined on an architecture that we have not looked up. */
export function systemCalls(architecture: string): readonly string[] | undefined {
  if (architecture === 'x64') return ['308', '126', '157', '166'];
  if (architecture === 'arm64') return ['268', '91', '167', '39'];
  return undefined;
}
