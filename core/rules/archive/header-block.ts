import { BLOCK } from './tar-header.ts';

export interface HeaderFields {
  /** Of at most 100 bytes, as is `linkName`. */
  readonly name: Buffer;
  readonly mode: number;
  readonly size: number;
  /** Seconds since 1970. */
  readonly mtime: number;
  readonly type: string;
  readonly linkName?: Buffer;
  /** Which format it is in: magic and version, 8 bytes. */
  readonly magic: string;
  /** Of at most 155 bytes, in the POSIX format alone. */
  readonly prefix?: string;
}

/** A header with its checksum; its owner is none. */
export function headerBlock({
  name,
  mode,
  size,
  mtime,
  type,
  linkName,
  magic,
  prefix = '',
}: HeaderFields): Buffer {
  const block = Buffer.alloc(BLOCK);
  name.copy(block);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(mtime, 11), 136);
  block.write(' '.repeat(8), 148);
  block.write(type, 156);
  linkName?.copy(block, 157);
  block.write(magic, 257, 'latin1');
  block.write(prefix, 345, 'utf8');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}
