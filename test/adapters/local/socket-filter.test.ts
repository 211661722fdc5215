import { expect, test } from '@jest/globals';
import { socketFilter } from '#adapters/local/socket-filter.ts';

/** What the kernel would do with a call: runs the few instructions that the filter is made of. */
function verdict(filter: Uint8Array<ArrayBuffer>, machine: number, number: number, argument = 0n): number {
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
      const jumps = code === 0x15 ? loaded === value : loaded >= value;
      at += 8 * program.getUint8(at + (jumps ? 2 : 3));
    }
  }
  throw new Error('the program has no end');
}

const ALLOW = 0x7fff_0000;
const NO_SUCH_CALL = 0x0005_0026;
const NO_SUCH_FAMILY = 0x0005_0061;

for (const [arch, machine, compatible, socket] of [
  ['x64', 0xc000_003e, 0x4000_0003, 41],
  ['arm64', 0xc000_00b7, 0x4000_0028, 198],
] as const) {
  const filter = socketFilter(arch) as Uint8Array<ArrayBuffer>;

  test(`on ${arch} a socket of AF_VSOCK has no such family, whatever the argument's high half`, () => {
    expect(verdict(filter, machine, socket, 40n)).toBe(NO_SUCH_FAMILY);
    expect(verdict(filter, machine, socket, 0xffff_ffff_0000_0028n)).toBe(NO_SUCH_FAMILY);
  });

  test.each([1n, 2n, 10n, 16n])(`on ${arch} a socket of family %d is allowed`, (family) => {
    expect(verdict(filter, machine, socket, family)).toBe(ALLOW);
  });

  test(`on ${arch} calls other than socket are allowed, even with 40 as their argument`, () => {
    for (const number of [0, 40, 56, 59, 222, 435]) expect(verdict(filter, machine, number, 40n)).toBe(ALLOW);
  });

  test(`on ${arch} there is no io_uring, no 32-bit call and no x32`, () => {
    expect(verdict(filter, machine, 425)).toBe(NO_SUCH_CALL);
    expect(verdict(filter, compatible, 1)).toBe(NO_SUCH_CALL);
    expect(verdict(filter, machine, 0x4000_0000 + 41, 40n)).toBe(NO_SUCH_CALL);
  });
}

test('there is no filter for a machine that it is not written for', () => {
  expect(socketFilter('riscv64')).toBeUndefined();
});
