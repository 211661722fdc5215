import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { systemCallFilter } from '#adapters/local/system-call-filter.ts';

/** The kernel's decision on a call: runs the instructions of the filter. */
function outcome(filter: Uint8Array<ArrayBuffer>, machine: number, number: number, argument = 0n): number {
  const program = new DataView(filter.buffer);
  const call = new DataView(new ArrayBuffer(64));
  call.setUint32(0, number, true);
  call.setUint32(4, machine, true);
  call.setBigUint64(16, argument, true);
  let loaded = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const code = program.getUint16(at, true);
    const value = program.getUint32(at + 4, true);
    if (code === 0x06) return value;
    if (code === 0x20) loaded = call.getUint32(value, true);
    else {
      const jumps =
        code === 0x15 ? loaded === value : code === 0x35 ? loaded >= value : (loaded & value) !== 0;
      at += 8 * program.getUint8(at + (jumps ? 2 : 3));
    }
  }
  throw new Error('the program has no end');
}

const ALLOW = 0x7fff_0000;
const EPERM = 0x0005_0001;
const ENOSYS = 0x0005_0026;
const EAFNOSUPPORT = 0x0005_0061;

const NAMES = {
  x64: {
    machine: 0xc000_003e,
    compatible: 0x4000_0003,
    socket: 41,
    socketpair: 53,
    clone: 56,
    unshare: 272,
    personality: 135,
    chroot: 161,
    denied: {
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      mount: 165,
      umount2: 166,
      pivot_root: 155,
      setns: 308,
      bpf: 321,
      perf_event_open: 298,
      userfaultfd: 323,
      open_by_handle_at: 304,
      quotactl: 179,
      kexec_load: 246,
      init_module: 175,
      syslog: 103,
      iopl: 172,
      ioperm: 173,
    },
  },
  arm64: {
    machine: 0xc000_00b7,
    compatible: 0x4000_0028,
    socket: 198,
    socketpair: 199,
    clone: 220,
    unshare: 97,
    personality: 92,
    chroot: 51,
    denied: {
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      mount: 40,
      umount2: 39,
      pivot_root: 41,
      setns: 268,
      bpf: 280,
      perf_event_open: 241,
      userfaultfd: 282,
      open_by_handle_at: 265,
      quotactl: 60,
      kexec_load: 104,
      init_module: 105,
      syslog: 116,
    },
  },
} as const;

/** The same numbers on both architectures. */
const DENIED_NEWER = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  mount_setattr: 442,
};

for (const arch of ['x64', 'arm64'] as const) {
  const { machine, compatible, socket, socketpair, clone, unshare, personality, chroot, denied } =
    NAMES[arch];
  const filter = systemCallFilter(arch) as Uint8Array<ArrayBuffer>;
  const forBrowsers = systemCallFilter(arch, true) as Uint8Array<ArrayBuffer>;

  test.each(Object.entries({ ...denied, ...DENIED_NEWER }))(`refuses on ${arch}: %s`, (_name, number) => {
    expect(outcome(filter, machine, number)).toBe(EPERM);
    expect(outcome(forBrowsers, machine, number)).toBe(EPERM);
  });

  test(`refuses on ${arch} sockets of AF_VSOCK, AF_ALG and other families, whatever the argument’s high half`, () => {
    for (const call of [socket, socketpair]) {
      for (const family of [0n, 15n, 17n, 38n, 40n, 44n, 0xffff_ffff_0000_0028n]) {
        expect(outcome(filter, machine, call, family)).toBe(EAFNOSUPPORT);
      }
    }
  });

  test.each([1n, 2n, 10n, 16n])(`allows on ${arch} a socket of family %d`, (family) => {
    expect(outcome(filter, machine, socket, family)).toBe(ALLOW);
  });

  test(`allows on ${arch} threads and processes, and refuses new namespaces unless browsers need them`, () => {
    for (const flags of [0x11n, 0x3d_0f00n, 0x4111n])
      expect(outcome(filter, machine, clone, flags)).toBe(ALLOW);
    for (const flag of [
      0x80, 0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000,
    ]) {
      for (const call of [clone, unshare]) {
        expect(outcome(filter, machine, call, BigInt(flag) | 0x11n)).toBe(EPERM);
        expect(outcome(forBrowsers, machine, call, BigInt(flag) | 0x11n)).toBe(ALLOW);
      }
    }
    expect(outcome(filter, machine, chroot)).toBe(EPERM);
    expect(outcome(forBrowsers, machine, chroot)).toBe(ALLOW);
  });

  test(`reports clone3 as missing on ${arch}, since no filter sees its flags; the C library falls back to clone`, () => {
    expect(outcome(filter, machine, 435)).toBe(ENOSYS);
    expect(outcome(forBrowsers, machine, 435)).toBe(ENOSYS);
  });

  test(`refuses on ${arch} personalities that weaken memory protection`, () => {
    expect(outcome(filter, machine, personality, 0n)).toBe(ALLOW);
    expect(outcome(filter, machine, personality, 0xffff_ffffn)).toBe(ALLOW);
    expect(outcome(filter, machine, personality, 0x4_0000n)).toBe(EPERM);
    expect(outcome(filter, machine, personality, 0x40_0000n)).toBe(EPERM);
  });

  test(`reports 32-bit calls, x32 calls and calls newer than its list as missing on ${arch}`, () => {
    expect(outcome(filter, compatible, 1)).toBe(ENOSYS);
    expect(outcome(filter, machine, 0x4000_0000 + socket, 1n)).toBe(ENOSYS);
    for (const number of [467, 1_000, 0xffff_ffff]) expect(outcome(filter, machine, number)).toBe(ENOSYS);
  });
}

/** The headers of all releases in use know the calls up to this number. */
const COMMON = 449;

const headers = '/usr/include/x86_64-linux-gnu/asm/unistd_64.h';

/** Calls that must work, by the kernel's numbers if its headers are installed. */
test('allows what ordinary programs call, by the numbers of the kernel’s headers', () => {
  if (!existsSync(headers)) return;
  const numbers = new Map(
    [...readFileSync(headers, 'utf8').matchAll(/#define __NR_(\w+) (\d+)/g)].map(
      ([, name = '', number]) => [name, Number(number)] as const,
    ),
  );
  const filter = systemCallFilter('x64') as Uint8Array<ArrayBuffer>;
  const refused = [...numbers].flatMap(([name, number]) =>
    number > COMMON || outcome(filter, NAMES.x64.machine, number) === ALLOW ? [] : [name],
  );
  expect(refused.toSorted()).toMatchInlineSnapshot(`
   [
     "_sysctl",
     "acct",
     "add_key",
     "afs_syscall",
     "bpf",
     "chroot",
     "clock_settime",
     "clone3",
     "create_module",
     "delete_module",
     "epoll_ctl_old",
     "epoll_wait_old",
     "fanotify_init",
     "fanotify_mark",
     "finit_module",
     "fsconfig",
     "fsmount",
     "fsopen",
     "fspick",
     "get_kernel_syms",
     "get_mempolicy",
     "get_thread_area",
     "getpmsg",
     "init_module",
     "io_uring_enter",
     "io_uring_register",
     "io_uring_setup",
     "ioperm",
     "iopl",
     "kcmp",
     "kexec_file_load",
     "kexec_load",
     "keyctl",
     "lookup_dcookie",
     "mbind",
     "memfd_secret",
     "migrate_pages",
     "modify_ldt",
     "mount",
     "mount_setattr",
     "move_mount",
     "move_pages",
     "nfsservctl",
     "open_by_handle_at",
     "open_tree",
     "perf_event_open",
     "pidfd_getfd",
     "pivot_root",
     "process_madvise",
     "putpmsg",
     "query_module",
     "quotactl",
     "quotactl_fd",
     "reboot",
     "request_key",
     "security",
     "set_mempolicy",
     "set_thread_area",
     "setdomainname",
     "sethostname",
     "setns",
     "settimeofday",
     "socket",
     "socketpair",
     "swapoff",
     "swapon",
     "sysfs",
     "syslog",
     "tuxcall",
     "umount2",
     "uselib",
     "userfaultfd",
     "ustat",
     "vhangup",
     "vserver",
   ]
  `);
});

test('is undefined for a machine that it is not written for', () => {
  expect(systemCallFilter('riscv64')).toBeUndefined();
});
