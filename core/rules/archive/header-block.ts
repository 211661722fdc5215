import { BLOCK } from './tar-header.ts';

export interface HeaderFields {
  /** Bytes as Latin-1, at most 100, as is `linkName`. */
  readonly name: string;
  readonly mode: number;
  /** 0 where they do not fit. @default 0 */
  readonly uid?: number;
  readonly gid?: number;
  readonly size: number;
  /** Seconds since 1970. */
  readonly mtime: number;
  readonly type: string;
  readonly linkName?: string;
  /** Which format it is in: magic and version, 8 bytes. */
  readonly magic: string;
  /** Of at most 155 bytes, in the POSIX format alone. */
  readonly prefix?: string;
}

/** A header with its checksum. */
export function headerBlock(fields: HeaderFields): Buffer {
  const block = Buffer.alloc(BLOCK);
  putHeader(block, 0, fields);
  return block;
}

/** The largest numbers of 11 and 7 octal digits. */
const MOST_11 = 8 ** 11 - 1;
const MOST_7 = 8 ** 7 - 1;

/** Writes a header with its checksum into `target`, which has room for a block at `at`. */
export function putHeader(
  target: Buffer,
  at: number,
  { name, mode, uid = 0, gid = 0, size, mtime, type, linkName = '', magic, prefix = '' }: HeaderFields,
): void {
  target.fill(0, at, at + BLOCK);
  target.write(name, at, 100, 'latin1');
  putOctal(target, at + 100, mode, 7);
  putOctal(target, at + 108, uid > MOST_7 ? 0 : uid, 7);
  putOctal(target, at + 116, gid > MOST_7 ? 0 : gid, 7);
  if (size <= MOST_11) putOctal(target, at + 124, size, 11);
  else {
    // Base 256, as GNU has it for what is too large for octal digits.
    target[at + 124] = 0x80;
    target.writeUIntBE(size, at + 130, 6);
  }
  putOctal(target, at + 136, Math.min(Math.max(Math.floor(mtime), 0), MOST_11), 11);
  target[at + 156] = type.charCodeAt(0);
  target.write(linkName, at + 157, 100, 'latin1');
  target.write(magic, at + 257, 8, 'latin1');
  target.write(prefix, at + 345, 155, 'latin1');
  // The checksum itself is taken for spaces.
  let sum = 8 * 0x20;
  for (let index = at; index < at + BLOCK; index += 1) sum += target[index] as number;
  putOctal(target, at + 148, sum, 6);
  target[at + 155] = 0x20;
}

function putOctal(target: Buffer, at: number, value: number, digits: number): void {
  let rest = value;
  for (let index = at + digits - 1; index >= at; index -= 1) {
    target[index] = 0x30 + (rest % 8);
    rest = Math.floor(rest / 8);
  }
}
