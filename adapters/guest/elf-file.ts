/**
 * Reads and replaces the loader and the library folder of a 64-bit little-endian Linux program
 * (System V ABI, "Object Files" and "Program Loading").
 */

const PT = { dynamic: 2, interpreter: 3 } as const;

const DT = { null: 0n, strings: 5n, rpath: 15n, debug: 21n, runpath: 29n } as const;

const HEADER = { offset: 32, sections: 40, count: 56, size: 56, sectionCount: 60 } as const;

export interface Relocation {
  readonly loader: string;
  readonly libraries: string;
}

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: bigint;
  readonly length: number;
}

/** @throws Error for a file that is not such a program */
function segments(file: Buffer): Segment[] {
  const isElf = file.readUInt32BE(0) === 0x7f454c46 && file[4] === 2 && file[5] === 1;
  if (!isElf) throw new Error('it is no ELF file of 64 bits, little endian');
  const start = Number(file.readBigUInt64LE(HEADER.offset));
  return Array.from({ length: file.readUInt16LE(HEADER.count) }, (_, index) => {
    const at = start + index * HEADER.size;
    return {
      type: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: file.readBigUInt64LE(at + 16),
      length: Number(file.readBigUInt64LE(at + 32)),
    };
  });
}

function segmentOf(file: Buffer, type: number): Segment {
  const found = segments(file).find((one) => one.type === type);
  if (found === undefined) throw new Error('it is linked statically');
  return found;
}

/** The path of the program's dynamic loader. @throws Error for a program without one */
export function loaderOf(file: Buffer): string {
  const { offset, length } = segmentOf(file, PT.interpreter);
  return file.toString('latin1', offset, offset + length).replace(/\0.*$/s, '');
}

/**
 * Changes the program so that the kernel starts it with this loader, and the loader looks for
 * libraries in this folder first, before LD_LIBRARY_PATH. Offsets do not change: both texts replace
 * the loader's path, and the library folder uses the entry that only debuggers read (DT_DEBUG).
 * Parts that are never loaded (symbols, line numbers) are removed.
 * @throws Error where both texts do not fit
 */
export function relocateProgram(original: Buffer, { loader, libraries }: Relocation): Buffer {
  const file = Buffer.from(original);
  const interpreter = segmentOf(file, PT.interpreter);
  const texts = Buffer.from(`${loader}\0${libraries}\0`, 'latin1');
  if (texts.length > interpreter.length) {
    throw new Error(`its loader's path has ${interpreter.length} bytes, and ${texts.length} are needed`);
  }
  const entries = dynamicEntries(file);
  if (entries.has(DT.rpath) || entries.has(DT.runpath)) throw new Error('it has a library path already');
  const strings = entries.get(DT.strings);
  const debug = entries.get(DT.debug);
  if (strings === undefined || debug === undefined) throw new Error('it has no place for a library path');

  file.fill(0, interpreter.offset, interpreter.offset + interpreter.length);
  texts.copy(file, interpreter.offset);
  // Relative to the string table, which comes later: the sum wraps around (ELF-64 addresses are
  // modulo 2^64).
  const path = interpreter.address + BigInt(loader.length + 1) - file.readBigUInt64LE(strings + 8);
  file.writeBigUInt64LE(DT.rpath, debug);
  file.writeBigUInt64LE(BigInt.asUintN(64, path), debug + 8);
  file.writeBigUInt64LE(0n, HEADER.sections);
  file.fill(0, HEADER.sectionCount, HEADER.sectionCount + 4);
  return file.subarray(0, Math.max(...segments(file).map((one) => one.offset + one.length)));
}

/** Offset of the first entry of each tag. */
function dynamicEntries(file: Buffer): Map<bigint, number> {
  const { offset, length } = segmentOf(file, PT.dynamic);
  const found = new Map<bigint, number>();
  for (let at = offset; at < offset + length; at += 16) {
    const tag = file.readBigUInt64LE(at);
    if (tag === DT.null) break;
    if (!found.has(tag)) found.set(tag, at);
  }
  return found;
}
