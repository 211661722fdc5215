/**
 * The relay that carries one connection to a port of a container, which may have no network but its own loopback. It is started by exec, in whatever language the image
 * brings. It says `.` when it has started, tries 127.0.0.1 and then ::1, and says one character more: `-` both refuse, `F` connected and framed, `R` connected and raw.
 *
 * Framed, both ways: four bytes of length and as many bytes; a length of zero is the end of that direction, one of 0xffffffff a connection that was broken. Whoever ends the
 * relay's input has let go of the connection: the relay ends. Raw, which is all that bash can: bytes as they are; its input's end lets go, the relay's own end is
 * the server's.
 */
export function relayCommand(port: number): readonly [string, ...string[]] {
  return ['sh', '-c', CHOOSE, 'sh', String(port), PERL, PYTHON, NODE, BASH];
}

/** The smallest first: there may be a hundred of them. */
const CHOOSE = `printf .
has() { command -v "$1" >/dev/null 2>&1; }
has perl && exec perl -e "$2" "$1"
has python3 && exec python3 -ISc "$3" "$1"
has node && exec node --max-semi-space-size=1 --max-old-space-size=24 -e "$4" "$1"
has bash && exec bash --norc -c "$5" bash "$1"
echo 'its image brings neither perl, python3, node nor bash' >&2
exit 127`;

/** No module is loaded: a perl without its library will do. */
const PERL = `my $port = shift; my $s;
sub reach { my ($family, $address) = @_; socket(my $h, $family, 1, 0) or return; connect($h, $address) or return; $s = $h; 1 }
sub put { my ($h, $b) = @_; my $at = 0; while ($at < length $b) { my $n = syswrite($h, $b, length($b) - $at, $at); defined $n or return; $at += $n } 1 }
sub take { my $n = shift; my $b = ''; while (length($b) < $n) { sysread(STDIN, $b, $n - length $b, length $b) or return } $b }
$SIG{PIPE} = 'IGNORE';
reach(2, pack('S n a4 x8', 2, $port, "\\x7f\\0\\0\\1")) or reach(10, pack('S n N a16 N', 10, $port, 0, ("\\0" x 15) . "\\1", 0))
  or do { put(\\*STDOUT, '-'); exit };
setsockopt($s, 6, 1, pack('i', 1));
put(\\*STDOUT, 'F');
defined(my $pid = fork) or exit 1;
if (!$pid) {
  my ($b, $n);
  while ($n = sysread($s, $b, 65536)) { put(\\*STDOUT, pack('N', $n) . $b) or exit }
  put(\\*STDOUT, defined $n ? "\\0\\0\\0\\0" : "\\xff\\xff\\xff\\xff");
  exit;
}
my $open = 1;
while (defined(my $head = take(4))) {
  my $n = unpack('N', $head);
  if ($n == 0) { shutdown($s, 1); next }
  last if $n > 65536;
  defined(my $b = take($n)) or last;
  $open &&= put($s, $b);
}
kill 'KILL', $pid;
waitpid($pid, 0);`;

const PYTHON = `import os, socket, struct, sys, threading
def put(b):
    b = memoryview(b)
    while b: b = b[os.write(1, b):]
def take(n):
    b = b''
    while len(b) < n:
        more = os.read(0, n - len(b))
        if not more: return None
        b += more
    return b
def back():
    try:
        while True:
            b = s.recv(65536)
            put(struct.pack('>I', len(b)) + b)
            if not b: return
    except OSError: put(b'\\xff' * 4)
for family, host in (socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'):
    try:
        s = socket.socket(family); s.connect((host, int(sys.argv[1]))); break
    except OSError: s = None
if s is None: put(b'-'); sys.exit()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
put(b'F')
threading.Thread(target=back, daemon=True).start()
isOpen = True
while True:
    head = take(4)
    if head is None: break
    n = struct.unpack('>I', head)[0]
    if n > 65536: break
    b = take(n)
    if b is None: break
    try:
        if n == 0: s.shutdown(socket.SHUT_WR)
        elif isOpen: s.sendall(b)
    except OSError: isOpen = False
os._exit(0)`;

const NODE = `const { connect } = require('node:net');
const { stdin, stdout } = process;
const frame = (length) => { const head = Buffer.alloc(4); head.writeUInt32BE(length); return head; };
const reach = ([host, ...others]) => {
  if (host === undefined) return stdout.write('-');
  const s = connect({ host, port: Number(process.argv[1]), allowHalfOpen: true, noDelay: true });
  const refused = () => reach(others);
  s.once('error', refused).once('connect', () => { s.off('error', refused); serve(s); });
};
const serve = (s) => {
  let isOpen = true;
  stdout.write('F');
  stdout.on('error', () => process.exit());
  stdout.on('drain', () => s.resume());
  s.on('data', (b) => { stdout.write(frame(b.length)); if (!stdout.write(b)) s.pause(); });
  s.on('end', () => stdout.write(frame(0)));
  s.on('error', () => { if (isOpen) stdout.write(frame(0xffffffff)); isOpen = false; });
  s.on('drain', () => stdin.resume());
  let held = Buffer.alloc(0);
  stdin.on('end', () => process.exit());
  stdin.on('data', (b) => {
    held = Buffer.concat([held, b]);
    while (held.length >= 4) {
      const n = held.readUInt32BE(0);
      if (n > 65536) process.exit(1);
      if (held.length < 4 + n) break;
      const piece = held.subarray(4, 4 + n);
      held = held.subarray(4 + n);
      if (n === 0) s.end();
      else if (isOpen && !s.write(piece)) stdin.pause();
    }
  });
};
reach(['127.0.0.1', '::1']);`;

/** Whatever ends first ends the other: its input, let go of from outside, or the connection, ended by the server. */
const BASH = `for host in 127.0.0.1 ::1; do
  { exec 3<>"/dev/tcp/$host/$1"; } 2>/dev/null && { printf R; break; }
done
{ true >&3; } 2>/dev/null || { printf -; exit; }
exec 4<&0
cat <&4 >&3 2>/dev/null &
cat <&3 2>/dev/null &
wait -n
kill %1 %2 2>/dev/null
exit 0`;
