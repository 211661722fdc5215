/** Hostile code in a sandbox, with the host run as root and as an ordinary user. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { USUAL_SANDBOXES } from '#adapters/local/machine-limits.ts';
import { readSandboxCaps } from '#adapters/local/process-limit.ts';
import { DrivenHost, prepare } from '#test/adapters/local/driven-host.ts';
import { comesTrue, processesWith } from '#test/adapters/local/host-processes.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';

/** System call numbers of the key calls. */
const KEYS = process.arch === 'arm64' ? { add: 217, keyctl: 219 } : { add: 248, keyctl: 250 };

/** Starts a command in a session keyring with a secret key, like one that a login leaves. */
const login = (secret: string): readonly string[] => [
  'perl',
  '-e',
  `my @key = ("user", "porthole-login", shift); syscall(${KEYS.keyctl}, 1, 0) > 0 or die;
   syscall(${KEYS.add}, @key, 0 + length $key[2], -3) > 0 or die; exec { $ARGV[0] } @ARGV`,
  secret,
];

/** Python: prints what a search of the session keyring for a key finds, or the error. */
const findKey = (name: string): string => `python3 -c '
import ctypes, errno
kernel = ctypes.CDLL(None, use_errno=True)
session, into = ctypes.c_long(-3), ctypes.create_string_buffer(64)
key = kernel.syscall(${KEYS.keyctl}, 10, session, b"user", b"${name}", 0)
if key > 0: kernel.syscall(${KEYS.keyctl}, 11, key, into, 64)
print(into.value.decode() if key > 0 else errno.errorcode[ctypes.get_errno()])'`;

/** Python: how each way into the guest's process ends, and whether its debugger listens. */
const ENTER_GUEST = `import ctypes, errno, os, signal, socket, time
kernel = ctypes.CDLL(None, use_errno=True)
named = lambda pid: open("/proc/" + pid + "/cmdline", "rb").read().startswith(b"porthole-guest")
pid = next(each for each in os.listdir("/proc") if each.isdigit() and named(each))
def enter(name, way):
    try: way()
    except OSError as error: print(name, errno.errorcode[error.errno])
    else: print(name, "possible")
def ptrace(request):
    if kernel.ptrace(request, int(pid), 0, 0) != 0: raise OSError(ctypes.get_errno(), "")
enter("seize", lambda: ptrace(0x4206))
enter("attach", lambda: ptrace(16))
enter("mem", lambda: open("/proc/" + pid + "/mem", "rb+"))
enter("maps", lambda: open("/proc/" + pid + "/maps").read())
enter("environ", lambda: open("/proc/" + pid + "/environ", "rb").read())
enter("fd", lambda: os.listdir("/proc/" + pid + "/fd"))
enter("fd 0", lambda: os.readlink("/proc/" + pid + "/fd/0"))
enter("root", lambda: os.listdir("/proc/" + pid + "/root"))
os.kill(int(pid), signal.SIGUSR1)
for _ in range(20):
    with socket.socket() as debugger:
        if debugger.connect_ex(("127.0.0.1", 9229)) == 0: print("debugger listens")
    time.sleep(0.05)
print("guest", pid, named(pid))`;

const isRoot = process.getuid?.() === 0;

for (const isolation of ['bubblewrap', 'unshare', 'gvisor'] as const) {
  const inGvisor = isolation === 'gvisor';
  const noKeys = inGvisor ? 'ENOSYS\n' : 'EPERM\n';
  // A run as root takes as long again, and gVisor's kernel is the same.
  for (const as of inGvisor ? (['ordinary user'] as const) : (['root', 'ordinary user'] as const)) {
    const notRoot = as === 'root' && !isRoot ? 'the tests must run as root: sudo npm test' : undefined;
    suite(`hostile code, ${isolation}, host run as ${as}`, missingFor(isolation) ?? notRoot, () => {
      const secret = randomBytes(16).toString('hex');
      const attacker = sandboxId();
      const neighbour = sandboxId();
      let folder: string;
      let victim: string;
      let host: DrivenHost;
      let listener: Server;
      let hostPort: number;

      beforeAll(async () => {
        folder = mkdtempSync(join(tmpdir(), 'porthole-hostile-'));
        victim = join(folder, 'victim');
        const place = { folder, isolation, as, within: login(secret) };
        await prepare(place);
        writeFileSync(join(folder, 'home', 'secret'), secret);
        mkdirSync(victim);
        writeFileSync(join(victim, 'file'), secret);
        host = await DrivenHost.start(place, secret);
        await Promise.all([host.create(attacker), host.create(neighbour)]);
        listener = createServer((socket) => socket.end(secret));
        await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
        hostPort = (listener.address() as { port: number }).port;
        await serve(neighbour, 3000);
      });
      afterAll(async () => {
        await host.destroy(attacker);
        await host.destroy(neighbour);
        await host.kill();
        listener.close();
        rmSync(folder, { recursive: true });
      });

      /** What the kernel of the machine does, or what it shows of the sandbox to the host. */
      const testOnLinux = (title: string, body: () => Promise<void>): void => {
        if (!inGvisor) test(title, body);
      };

      /** A server that sends the sandbox's id and echoes. */
      async function serve(id: string, port: number): Promise<void> {
        const server = `require('net').createServer((c) => { c.on('error', () => {}); c.write(process.env.SANDBOX_ID + ':'); c.pipe(c); }).listen(${port}, '127.0.0.1')`;
        const probe = `const t = () => { const c = require('net').connect(${port}, '127.0.0.1'); c.on('connect', () => process.exit()); c.on('error', () => setTimeout(t, 10)); }; t();`;
        await host.shell(id, `nohup node -e "${server}" >/dev/null & node -e "${probe}"`);
      }

      /** Connects from inside and prints the bytes it receives, or the error's code. */
      const connect = (id: string, target: string): Promise<string> =>
        host.shell(
          id,
          `node -e "const c = require('net').connect(${target}); c.on('data', (d) => process.stdout.write(String(d))); c.on('error', (e) => process.stdout.write(e.code)); setTimeout(() => process.exit(), 300)"`,
        );

      test.each([
        'vm/swappiness',
        'kernel/core_pattern',
        'kernel/domainname',
        'net/ipv4/ip_forward',
        'user/max_user_namespaces',
      ])('cannot write /proc/sys/%s', async (name) => {
        const before = readFileSync(`/proc/sys/${name}`, 'utf8').trim();
        const said = await host.shell(attacker, `echo 1 > /proc/sys/${name} && echo written`);
        expect(said).not.toContain('written');
        expect(readFileSync(`/proc/sys/${name}`, 'utf8').trim()).toBe(before);
      });

      test('cannot enter the guest by ptrace, its memory, its descriptors or its debugger', async () => {
        const said = await host.shell(attacker, `python3 -c '${ENTER_GUEST}'`);
        expect(said.trim().split('\n')).toEqual([
          'seize EPERM',
          'attach EPERM',
          ...['mem', 'maps', 'environ', 'fd', 'fd 0', 'root'].map((name) =>
            // gVisor shows the numbers, and opens none.
            inGvisor && name === 'fd' ? 'fd possible' : `${name} EACCES`,
          ),
          expect.stringMatching(/^guest \d+ True$/),
        ]);
        expect(await host.shell(attacker, 'echo lives')).toBe('lives\n');
      });

      test('cannot write anything below /proc/sys, nor /proc/sysrq-trigger', async () => {
        const said = await host.shell(
          attacker,
          'find /proc/sys /proc/sysrq-trigger -type f -writable 2>/dev/null | head',
        );
        expect(said).toBe('');
      });

      testOnLinux('cannot make /proc/sys writable in nested namespaces', async () => {
        const tries = [
          'unshare -Ur --mount umount /proc/sys && echo undone',
          'unshare -Ur --mount mount -o remount,bind,rw /proc/sys && echo undone',
          'unshare -Ur --mount --pid --fork mount -t proc proc /tmp && echo undone',
          'unshare -Ur --mount mount -o remount,bind,rw /usr && echo undone',
        ];
        for (const attempt of tries) expect(await host.shell(attacker, attempt)).not.toContain('undone');
      });

      test('cannot find anything of the host’s environment in any process', async () => {
        const seen = await host.shell(attacker, "cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'");
        expect(seen).toContain(`SANDBOX_ID=${attacker}`);
        expect(seen).not.toContain(secret);
        expect(seen).not.toContain('HOST_SECRET');
        expect(seen).not.toContain(folder);
      });

      test('gets no descriptor but its own three', async () => {
        expect(await host.shell(attacker, 'ls /proc/$$/fd')).toBe('0\n1\n2\n');
      });

      test.each([
        '/etc/shadow',
        '/etc/gshadow',
        '/etc/machine-id',
        '/etc/ssh',
        '/root',
        ...(inGvisor ? [] : ['/sys']),
        '/boot',
        '/run/docker.sock',
      ])('cannot see %s', async (path) => {
        expect(await host.shell(attacker, `cat ${path} || ls -d ${path} || echo blind`)).toContain('blind');
      });

      test('cannot read the host’s HOME or its data', async () => {
        for (const path of [join(folder, 'home', 'secret'), join(folder, 'data'), folder]) {
          expect(await host.shell(attacker, `cat ${path} || ls ${path} || echo blind`)).toContain('blind');
        }
        expect(await host.shell(attacker, `cat /proc/1/root${folder}/home/secret || echo blind`)).toContain(
          'blind',
        );
        expect(await host.shell(attacker, 'echo "$HOME"')).toBe('/home/sandbox\n');
      });

      test.each([
        '/usr',
        '/etc',
        '/opt/porthole/guest',
        '/opt/node/bin',
        '/',
        '/etc/passwd',
        '/opt/node/bin/node',
      ])('cannot write %s', async (path) => {
        const attempt = `if [ -d ${path} ]; then touch ${path}/x; else echo x >> ${path}; fi && echo written`;
        expect(await host.shell(attacker, attempt)).not.toContain('written');
      });

      test('cannot see another sandbox’s processes', async () => {
        expect(await host.shell(neighbour, 'cat /proc/*/cmdline')).toContain('createServer');
        expect(await host.shell(attacker, 'cat /proc/*/cmdline')).not.toContain('createServer');
        expect(await host.shell(attacker, "cat /proc/*/environ | tr '\\0' '\\n'")).not.toContain(neighbour);
      });

      test('cannot reach another sandbox’s port', async () => {
        expect(await host.talk(neighbour, 3000, 'ping')).toBe(`${neighbour}:ping`);
        expect(await connect(attacker, "3000, '127.0.0.1'")).toBe('ECONNREFUSED');
      });

      test('cannot reach a listener on the host’s loopback', async () => {
        expect(await connect(attacker, `${hostPort}, '127.0.0.1'`)).toBe('ECONNREFUSED');
      });

      test('cannot reach beyond this machine', async () => {
        expect(await connect(attacker, "80, '198.18.0.1'")).toBe('ENETUNREACH');
      });

      test('cannot change its network', async () => {
        expect(await host.shell(attacker, 'ip link set lo down && echo down')).not.toContain('down\n');
      });

      test('cannot read the keys of the login that started the host', async () => {
        expect(await host.shell(attacker, findKey('porthole-login'))).toBe(noKeys);
      });

      test('cannot exchange data with another sandbox through keys', async () => {
        const put = `python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(${KEYS.add}, b"user", b"dead-drop", b"data", 4, ctypes.c_long(-3)))'`;
        expect(await host.shell(attacker, put)).toBe('-1\n');
        expect(await host.shell(neighbour, findKey('dead-drop'))).toBe(noKeys);
      });

      test('cannot revoke the keys of the login, nor list them', async () => {
        const revoke = `python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(${KEYS.keyctl}, 3, ctypes.c_long(-3)))'`;
        expect(await host.shell(attacker, revoke)).toBe('-1\n');
        expect(await host.shell(attacker, 'cat /proc/keys')).not.toContain('porthole-login');
      });

      testOnLinux(
        'cannot make namespaces, in which it could mount memory that no process is charged for',
        async () => {
          const tries = ['--user', '--user --map-root-user', '--net', '--mount', '--pid --fork'];
          for (const flags of tries) {
            expect(await host.shell(attacker, `unshare ${flags} true && echo made`)).not.toContain('made');
          }
          const ramfs = 'unshare --user --map-root-user --mount mount -t ramfs ramfs /mnt && echo mounted';
          expect(await host.shell(attacker, ramfs)).not.toContain('mounted');
        },
      );

      testOnLinux('is killed before the host where memory runs out', async () => {
        expect(Number(await host.shell(attacker, 'cat /proc/self/oom_score_adj'))).toBe(800);
        const guest = 'until [ "$(cat /proc/$PPID/oom_score_adj)" = 500 ]; do sleep 0.01; done; echo lower';
        expect(await host.shell(attacker, guest)).toBe('lower\n');
      });

      testOnLinux('yields the processor to the host, and cannot take it back', async () => {
        // Field 19 of /proc/<pid>/stat is the niceness; the shell's name has no space.
        const niceness = "cut -d ' ' -f 19 /proc/self/stat";
        const inside = `${niceness}; renice -n 0 -p $$ >/dev/null 2>&1; ${niceness}`;
        const expected = Math.min(getPriority() + 5, 19);
        expect(await host.shell(attacker, inside)).toBe(`${expected}\n${expected}\n`);
      });

      test('cannot use up the inotify instances of other sandboxes', async () => {
        const watch = (most: number): string =>
          `python3 -c 'import ctypes; kernel = ctypes.CDLL(None); print(sum(kernel.inotify_init() >= 0 for _ in range(${most})), flush=True)${most > 1 ? '; import time; time.sleep(1000)' : ''}'`;
        const counted = `${watch(10_000)} >/tmp/count & while ! [ -s /tmp/count ]; do sleep 0.01; done; cat /tmp/count`;
        expect(Number(await host.shell(attacker, counted))).toBeGreaterThan(8);
        expect(await host.shell(neighbour, watch(1))).toBe('1\n');
        await host.shell(attacker, 'pkill -f inotify_init');
      });

      test('cannot make a socket that leads to the hypervisor, and can make all others', async () => {
        const make = (family: number): Promise<string> =>
          host.shell(
            attacker,
            `python3 -c 'import errno, socket\ntry: socket.socket(${family}, socket.SOCK_STREAM); print("made")\nexcept OSError as e: print(errno.errorcode[e.errno])'`,
          );
        expect(await make(40)).toBe('EAFNOSUPPORT\n');
        for (const family of [1, 2, 10]) expect(await make(family)).toBe('made\n');
      });

      test('can fill its folders in memory up to a bound, and goes on', async () => {
        const room = 'df -BM --output=size /tmp /home/sandbox /var/tmp /dev/shm | tail -n +2';
        expect((await host.shell(attacker, room)).split(/\s+/).filter(Boolean)).toEqual([
          '1024M',
          '512M',
          '64M',
          '64M',
        ]);
        const filled = await host.shell(
          attacker,
          'head -c 65M /dev/zero > /var/tmp/full; stat -c %s /var/tmp/full',
        );
        expect(filled).toContain('No space left on device');
        expect(filled).toContain(`${64 * 2 ** 20}\n`);
        expect(await host.shell(attacker, 'echo on')).toBe('on\n');
        await host.shell(attacker, 'rm /var/tmp/full');
      });

      test('cannot put files into /dev, which has no bound', async () => {
        expect(await host.shell(attacker, 'echo x > /dev/file && echo written')).not.toContain('written');
      });

      test('cannot have more than its share of processes, nor raise that', async () => {
        const most = readSandboxCaps(USUAL_SANDBOXES).processes;
        const script = `ulimit -Hu; ulimit -Su; ulimit -u ${most + 1} 2>/dev/null || echo refused`;
        const { stdout } = await host.run(attacker, 'bash', '-c', script);
        expect(stdout).toBe(`${most}\n${most}\nrefused\n`);
      });

      testOnLinux('cannot outlive its sandbox by double fork, setsid and nohup', async () => {
        const mark = `outlive-${attacker}`;
        await host.shell(
          attacker,
          `for i in 1 2 3; do (trap '' HUP TERM INT; setsid nohup sh -c 'trap "" TERM HUP; while :; do sleep 1000; done' ${mark} >/dev/null & ) & done; wait`,
        );
        expect(await comesTrue(() => processesWith(mark).length >= 3)).toBe(true);
        await host.stop(attacker);
        expect(processesWith(mark)).toEqual([]);
        await host.resume(attacker);
      });

      test('ends only itself when it kills everything it can, and can be resumed', async () => {
        await expect(host.shell(attacker, 'kill -9 -1; kill -9 1 2; sleep 1000')).rejects.toThrow(
          /exec_transport_error/,
        );
        expect(await host.talk(neighbour, 3000, 'ping')).toBe(`${neighbour}:ping`);
        await host.stop(attacker);
        await host.resume(attacker);
        expect(await host.shell(attacker, 'echo back')).toBe('back\n');
      });

      test('ends its servers and nothing else by pkill -f node', async () => {
        await serve(attacker, 3200);
        expect(await host.run(attacker, 'pkill', '-f', 'node')).toMatchObject({ exit: { code: 0 } });
        const gone = "while pgrep -f '[c]reateServer' >/dev/null; do sleep 0.01; done";
        expect(await host.shell(attacker, `${gone}; cat /proc/$PPID/comm`)).toBe('porthole-guest\n');
        expect(await connect(attacker, "3200, '127.0.0.1'")).toBe('ECONNREFUSED');
      });

      testOnLinux('gets a bounded error and blocks no other caller when it freezes its guest', async () => {
        // The quotes disappear from the command line, which shows that the freezing is done.
        const frozen = host.shell(attacker, "kill -STOP $PPID; exec sleep 10''43");
        expect(await comesTrue(() => processesWith('sleep\x001043').length > 0)).toBe(true);
        await expect(host.shell(attacker, 'echo never')).rejects.toThrow(/exec_transport_error/);
        expect(await host.shell(neighbour, 'echo fine')).toBe('fine\n');
        await host.stop(attacker);
        await expect(frozen).rejects.toThrow(/exec_transport_error/);
        await host.resume(attacker);
        expect(await host.shell(attacker, 'echo back')).toBe('back\n');
      });

      test('cannot take the listening socket’s place: its file is not inside', async () => {
        expect(await host.shell(attacker, 'find / -xdev -type s 2>/dev/null')).toBe('');
      });

      // As root, the provider's contract covers it.
      if (as === 'ordinary user')
        test('cannot keep its sandbox from starting by what it leaves in the workspace', async () => {
          expect(await host.survivesHostileTrees([attacker, neighbour])).toEqual([]);
        });

      test('cannot lead stop, resume or destroy out of its folder by links, depth or closed folders', async () => {
        const id = sandboxId();
        await host.create(id);
        await host.shell(
          id,
          `cd /workspace && rm -rf outputs && ln -s ${victim} outputs && ln -s ${victim} link && ln -s / root && mkdir -p shut/a && touch shut/a/b && chmod 0 shut/a/b shut/a shut`,
        );
        const dig = `for (let i = 0; i < 600; i++) { require('fs').mkdirSync('ddddddddddddddd'); process.chdir('ddddddddddddddd'); }`;
        const deeper = `cd /workspace && node -e "${dig}" && echo dug`;
        expect(await host.shell(id, deeper)).toBe('dug\n');
        await host.stop(id);
        await host.resume(id);
        await host.destroy(id);
        expect(await host.inspect(id)).toMatchObject({ state: 'absent' });
        expect(await host.list()).not.toContain(id);
        expect(readFileSync(join(victim, 'file'), 'utf8')).toBe(secret);
      });
    });
  }
}
