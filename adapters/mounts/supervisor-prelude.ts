/**
 * Perl that every mount supervisor script ends with. The script before it defines `$prctl` (a
 * system call's number), `@s3fs`, `$uid` and `$gid` (owner of the files), `$patience` (seconds
 * until the bucket must be mounted), `$target` (the mount point for s3fs), `@gone` (descriptors
 * that become readable once the sandbox has ended), and `unmount()`, `mounted()`, `serve()`
 * (becomes s3fs by `exec`) and `look()` (exits with 0 if the bucket is readable). It
 * - prints `ready` on stdout once the bucket is readable,
 * - unmounts when s3fs or the sandbox ends, or when its stdin closes, which happens whenever the
 *   host ends. Only a child process reads the mount, because a read blocks on the S3 server.
 */
export const SUPERVISOR_PRELUDE = String.raw`
my $own = $$;
sub child {
  my ($run) = @_;
  my $pid = fork() // fail('fork');
  return $pid if $pid;
  end_together();
  $run->();
  POSIX::_exit(127);
}
sub end_together {
  syscall($prctl + 0, 1, 9, 0, 0, 0);
  exit 1 if getppid() != $own;
}
sub become_s3fs {
  for (@s3fs) { s/\@UID\@/$uid/g; s/\@GID\@/$gid/g; s/\@TARGET\@/$target/g }
  open(STDIN, '<', '/dev/null'); open(STDOUT, '>&', \*STDERR);
  exec { $s3fs[0] } @s3fs or print STDERR "keeper: exec $s3fs[0]: $!\n";
}
sub keep {
  my ($server) = @_;
  my ($alive, $probe) = (1, 0);
  my $finish = sub {
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
  };
  $SIG{TERM} = sub { $finish->(0) };
  $SIG{CHLD} = sub { };
  my ($watched, $ready, $refused, $until) = ('', 0, 0, time + $patience);
  vec($watched, $_, 1) = 1 for 0, @gone;
  while (1) {
    while ((my $ended = waitpid(-1, WNOHANG)) > 0) {
      my $code = $?;
      if ($ended == $server) { $alive = 0; $finish->(4) }
      next if $ended != $probe;
      $probe = 0;
      if ($code == 0) { $ready = 1; syswrite(STDOUT, "ready\n") }
      # It knows why, and says so only as it ends: which it does by itself, or else is made to.
      else { $refused = 1; $until = time + 2 }
    }
    if (!$ready && time > $until) { print STDERR "keeper: late\n" if !$refused; $finish->(5) }
    $probe = child(\&look) if !$ready && !$probe && !$refused && mounted();
    my $told = select(my $readable = $watched, undef, undef, $ready ? 1 : 0.01);
    next if $told <= 0;
    for my $fd (@gone) { $finish->(0) if vec($readable, $fd, 1) }
    $finish->(0) if vec($readable, 0, 1) && !sysread(STDIN, my $word, 64);
  }
}
`;
