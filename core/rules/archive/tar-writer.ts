import { BLOCK } from './tar-header.ts';

export interface TarMember {
  /** Relative. */
  readonly name: string;
  /** Of the contents that follow, in bytes; undefined: it is a hard link to `linkName`. */
  readonly size?: number;
  readonly linkName?: string;
  /** Seconds since 1970. */
  readonly mtime: number;
}

/** What stands before the contents of a file of mode 0644: its header and, for names that are longer than it has room for, those before it, as GNU has them and every tar understands. */
export function tarMember({ name, size, linkName = '', mtime }: TarMember): Buffer {
  const type = size === undefined ? '1' : '0';
  return Buffer.concat([
    longName('L', name, mtime),
    longName('K', linkName, mtime),
    header(name, type, size ?? 0, linkName, mtime),
  ]);
}

/** What fills up the last block of contents. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

/** Of a header, in bytes. */
const MAX_NAME = 100;

function longName(type: 'L' | 'K', name: string, mtime: number): Buffer {
  const bytes = Buffer.from(`${name}\0`);
  if (bytes.length <= MAX_NAME) return Buffer.alloc(0);
  return Buffer.concat([
    header('././@LongLink', type, bytes.length, '', mtime),
    bytes,
    tarPadding(bytes.length),
  ]);
}

/** In the old GNU format, which is what goes with long names (GNU tar manual, "Basic Tar Format"). */
function header(name: string, type: string, size: number, linkName: string, mtime: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  // Cut, where it is too long: the true one stands before.
  Buffer.from(name).copy(block, 0, 0, MAX_NAME - 1);
  block.write(octal(0o644, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(mtime, 11), 136);
  block.write(' '.repeat(8), 148);
  block.write(type, 156);
  Buffer.from(linkName).copy(block, 157, 0, MAX_NAME - 1);
  block.write('ustar  \0', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}
