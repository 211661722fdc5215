/**
 * Calls of the kernel around a sandbox that neither a shell nor Node makes. The addon for them is
 * beside this file.
 *
 *     node launch-helper.mts loopback     brings `lo` up (netdevice(7))
 *     node launch-helper.mts filter COMMAND…     becomes the command, under the system call filter
 *                                                on descriptor 5 (seccomp(2))
 *     node launch-helper.mts send SOCKET DESCRIPTOR     sends a descriptor over a Unix socket
 */
import { closeSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

interface ForeignCalls {
  load(library: null): {
    func(name: string, result: string, parameters: readonly string[]): (...values: unknown[]) => number;
  };
  struct(name: string, fields: Readonly<Record<string, string>>): unknown;
}

const calls = createRequire(import.meta.url)(join(import.meta.dirname, 'calls.node')) as ForeignCalls;
const library = calls.load(null);

function check(answer: number, what: string): void {
  if (answer === 0) return;
  process.stderr.write(`${what}\n`);
  process.exit(1);
}

const AF_INET = 2;
const SOCK_DGRAM = 2;
const SIOCSIFFLAGS = 0x8914;
/** IFF_UP, IFF_LOOPBACK and IFF_RUNNING. */
const FLAGS = 0x49;

function bringLoopbackUp(): void {
  const socket = library.func('socket', 'int', ['int', 'int', 'int']);
  const ioctl = library.func('ioctl', 'int', ['int', 'unsigned long', 'void *']);
  // A name of 16 bytes, then the flags.
  const request = Buffer.alloc(40);
  request.write('lo', 'latin1');
  request.writeInt16LE(FLAGS, 16);
  check(ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, request), 'cannot bring lo up');
}

const FILTER = 5;
const PR_SET_SECCOMP = 22;
const SECCOMP_MODE_FILTER = 2;
/** An instruction of classic BPF, in bytes. */
const INSTRUCTION = 8;
const F_SETFD = 2;

/** Its descriptors up to here are passed on: Node closes inherited ones at an exec. */
const LISTENER = 3;

/** @param argv absolute path of a program, and its arguments */
function startFiltered(argv: readonly string[]): void {
  const filter = readFileSync(FILTER);
  closeSync(FILTER);
  const fcntl = library.func('fcntl', 'int', ['int', 'int', 'int']);
  fcntl(LISTENER, F_SETFD, 0);
  calls.struct('sock_fprog', { length: 'uint16_t', filter: 'void *' });
  const prctl = library.func('prctl', 'int', ['int', 'unsigned long', 'sock_fprog *']);
  const program = { length: filter.length / INSTRUCTION, filter };
  // For this thread alone: it becomes the command, and the others end.
  check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program), 'the kernel refuses the system call filter');
  process.execve?.(argv[0] ?? '', argv);
}

const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;

/** As fusermount does: one byte, with the descriptor beside it (unix(7)). */
function sendDescriptor(socket: number, descriptor: number): void {
  calls.struct('iovec', { iov_base: 'void *', iov_len: 'size_t' });
  calls.struct('msghdr', {
    msg_name: 'void *',
    msg_namelen: 'uint32_t',
    msg_iov: 'iovec *',
    msg_iovlen: 'size_t',
    msg_control: 'void *',
    msg_controllen: 'size_t',
    msg_flags: 'int',
  });
  const sendmsg = library.func('sendmsg', 'long', ['int', 'msghdr *', 'int']);
  // A 64-bit length, level and type, then the descriptor, padded to 8 bytes.
  const control = Buffer.alloc(24);
  control.writeBigUInt64LE(20n, 0);
  control.writeInt32LE(SOL_SOCKET, 8);
  control.writeInt32LE(SCM_RIGHTS, 12);
  control.writeInt32LE(descriptor, 16);
  const message = {
    msg_name: null,
    msg_namelen: 0,
    msg_iov: { iov_base: Buffer.alloc(1), iov_len: 1 },
    msg_iovlen: 1,
    msg_control: control,
    msg_controllen: control.length,
    msg_flags: 0,
  };
  check(sendmsg(socket, message, 0) === 1 ? 0 : -1, 'cannot send a descriptor');
}

const [, , task, ...argv] = process.argv;
if (task === 'loopback') bringLoopbackUp();
else if (task === 'send') sendDescriptor(Number(argv[0]), Number(argv[1]));
else startFiltered(argv);
