/** What the filter has to know of a machine: how the kernel names its system calls, and their numbers. */
const MACHINES: Readonly<Partial<Record<NodeJS.Architecture, { audit: number; socket: number }>>> = {
  x64: { audit: 0xc000_003e, socket: 41 },
  arm64: { audit: 0xc000_00b7, socket: 198 },
};

/** The same number on every machine. */
const IO_URING_SETUP = 425;

/** Calls of x86-64's x32 ABI carry this bit, under the same machine's name; elsewhere no call's number is as high. */
const X32 = 0x4000_0000;

const AF_VSOCK = 40;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** Offsets in the kernel's `struct seccomp_data`; of the 64-bit argument the low half, which is all that `socket` looks at. */
const NUMBER = 0;
const MACHINE = 4;
const FIRST_ARGUMENT = 16;

/** Classic BPF: load a word, jump if equal, jump if greater or equal, return. */
const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const RETURN = 0x06;

const ALLOW = 0x7fff_0000;
const FAIL = 0x0005_0000;

/** `then` and `otherwise` are how many instructions a jump leaves out. */
type Instruction = readonly [code: number, value: number, then?: number, otherwise?: number];

/**
 * The seccomp filter of a sandbox, as the bytes that `bwrap --seccomp` reads: no sockets of the family AF_VSOCK. No namespace holds
 * those, and on a virtual machine they lead to the hypervisor. What could make one past the filter is not there (ENOSYS): io_uring, the
 * machine's 32-bit calls and x32. Everything else is allowed. Undefined for a machine it is not written for.
 */
export function socketFilter(arch: NodeJS.Architecture): Uint8Array<ArrayBuffer> | undefined {
  const machine = MACHINES[arch];
  if (machine === undefined) return undefined;
  const program: readonly Instruction[] = [
    [LOAD, MACHINE],
    [IF_EQUAL, machine.audit, 0, 7],
    [LOAD, NUMBER],
    [IF_AT_LEAST, X32, 5, 0],
    [IF_EQUAL, IO_URING_SETUP, 4, 0],
    [IF_EQUAL, machine.socket, 0, 2],
    [LOAD, FIRST_ARGUMENT],
    [IF_EQUAL, AF_VSOCK, 2, 0],
    [RETURN, ALLOW],
    [RETURN, FAIL | ENOSYS],
    [RETURN, FAIL | EAFNOSUPPORT],
  ];
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, value, then = 0, otherwise = 0]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, then);
    bytes.setUint8(index * 8 + 3, otherwise);
    bytes.setUint32(index * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
