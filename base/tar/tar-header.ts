import { PortholeError } from '../errors.ts';

/** A rejected archive. */
export class ArchiveError extends PortholeError {
  /** The reason, in a few words. */
  readonly why: string;

  constructor(why: string) {
    super(
      'invalid_request',
      `The archive is refused: ${why}. Send a plain tar of what belongs below /workspace.`,
    );
    this.why = why;
  }
}

/** The error for a rejected archive. */
export function archiveError(why: string): ArchiveError {
  return new ArchiveError(why);
}

/** Size of a header, and alignment of contents, in bytes (POSIX.1-2024, ustar format). */
export const BLOCK = 512;

const SLASH = 0x2f;
const UNDERSCORE = 0x5f;

type TarType =
  | 'file'
  | 'hardlink'
  | 'symlink'
  | 'directory'
  | 'fifo'
  | 'character device'
  | 'block device'
  | 'long-name'
  | 'long-link'
  | 'pax'
  | 'pax-global';

/** Names and link targets are bytes, as Latin-1. */
export interface TarHeader {
  readonly name: string;
  readonly linkName: string;
  readonly type: TarType;
  /** Size of the contents that follow, in bytes. */
  readonly size: number;
  /** Permissions, and the three bits above them. */
  readonly mode: number;
  /** Seconds since 1970. */
  readonly mtime: number;
}

/** The supported types. All others, such as sparse files and volumes, are rejected. */
const TYPES: Readonly<Record<string, TarType>> = {
  '0': 'file',
  '\0': 'file',
  // Every reader treats contiguous files as ordinary ones.
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '3': 'character device',
  '4': 'block device',
  '5': 'directory',
  '6': 'fifo',
  L: 'long-name',
  K: 'long-link',
  x: 'pax',
  g: 'pax-global',
};

/**
 * Reads one header. Rejects what two tar readers may interpret differently.
 * @throws PortholeError `invalid_request`
 */
export function readTarHeader(block: Buffer): TarHeader {
  checkSum(block);
  const magic = block.toString('latin1', 257, 265);
  const isPosix = magic.startsWith('ustar\0');
  if (!isPosix && magic !== 'ustar  \0' && magic !== '\0\0\0\0\0\0\0\0') {
    throw archiveError('a header is of no kind that is known');
  }
  // busybox always treats it as a part of the name, GNU tar only in POSIX headers.
  if (!isPosix && block[345] !== 0) throw archiveError('a header has a prefix, which is not of its kind');
  const prefix = isPosix ? text(block, 345, 155) : '';
  const name = prefix === '' ? text(block, 0, 100) : `${prefix}/${text(block, 0, 100)}`;
  const flag = String.fromCharCode(block[156] ?? 0);
  const type = TYPES[flag];
  if (type === undefined) {
    throw archiveError(
      `${shown(name)} is ${flag === 'S' ? 'a sparse file' : `of type ${JSON.stringify(flag)}`}`,
    );
  }
  const size = number(block, 124, 12, name);
  if (size > 0 && (type === 'hardlink' || type === 'symlink' || type === 'directory' || type === 'fifo')) {
    throw archiveError(`${shown(name)} has contents, but is a ${type}`);
  }
  return {
    name,
    linkName: text(block, 157, 100),
    type,
    size,
    mode: (octal(block, 100, 8) ?? 0o644) & 0o7777,
    mtime: octal(block, 136, 12) ?? 0,
  };
}

/**
 * The oldest archives mark directories only by a trailing slash. Checks the effective name: after a
 * long-name entry, the header holds only its first 100 bytes, which may end at any slash.
 * @throws PortholeError `invalid_request`
 */
export function bySlash(header: TarHeader): TarHeader {
  const { name, type, size } = header;
  if (type !== 'file' || !name.endsWith('/')) return header;
  if (size > 0) throw archiveError(`${shown(name)} has contents, but is a directory`);
  return { ...header, type: 'directory' };
}

/**
 * The header of a file with a preceding long name, its truncated name without a trailing slash: a
 * reader that ignores long names would see a directory, and read its contents as headers.
 */
export function withoutSlash(block: Buffer): Buffer {
  const end = block.subarray(0, 100).indexOf(0);
  const last = (end === -1 ? 100 : end) - 1;
  // An empty name ends in the slash after its prefix.
  if (last >= 0 && block[last] !== SLASH) return block;
  const mended = Buffer.from(block);
  mended[Math.max(last, 0)] = UNDERSCORE;
  mended.write(`${sumOf(mended).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return mended;
}

/** A name for an error: bounded, and printable. */
export function shown(name: string): string {
  return JSON.stringify(Buffer.from(name, 'latin1').toString('utf8').slice(0, 100));
}

/** Sum of its bytes, those of the checksum counted as spaces. */
function sumOf(block: Buffer): number {
  let sum = 8 * 0x20;
  for (let at = 0; at < BLOCK; at += 1) if (at < 148 || at >= 156) sum += block[at] ?? 0;
  return sum;
}

function checkSum(block: Buffer): void {
  const pax = /^ *([0-7]{1,7})[\0 ]/.exec(block.toString('latin1', 148, 156))?.[1];
  if (pax === undefined || Number.parseInt(pax, 8) !== sumOf(block)) {
    throw archiveError(
      block[0] === 0x1f && block[1] === 0x8b
        ? 'it is compressed by gzip'
        : 'a header does not fit its checksum',
    );
  }
}

function text(block: Buffer, from: number, length: number): string {
  const field = block.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.toString('latin1', 0, end === -1 ? length : end);
}

/** Octal digits, or base 256 for larger numbers (GNU). */
function number(block: Buffer, from: number, length: number, name: string): number {
  const field = block.subarray(from, from + length);
  if ((field[0] ?? 0) === 0x80) {
    const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
    if (Number.isSafeInteger(value)) return value;
  } else {
    const value = octal(block, from, length);
    if (value !== undefined) return value;
  }
  throw archiveError(`the size of ${shown(name)} is no number`);
}

/** Undefined if it is not an octal number. */
function octal(block: Buffer, from: number, length: number): number | undefined {
  const text = block.toString('latin1', from, from + length);
  const found = /^ *(?:([0-7]{1,11})[\0 ]*|\0[\0 ]*)?$/.exec(text);
  return found === null ? undefined : Number.parseInt(found[1] ?? '0', 8);
}

export interface HeaderFields {
  /** Bytes as Latin-1, at most 100; so is `linkName`. */
  readonly name: string;
  readonly mode: number;
  /** 0 if it does not fit, as for `gid`. @default 0 */
  readonly uid?: number;
  readonly gid?: number;
  readonly size: number;
  /** Seconds since 1970. */
  readonly mtime: number;
  readonly type: string;
  readonly linkName?: string;
  /** The format: magic and version, 8 bytes. */
  readonly magic: string;
  /** At most 155 bytes; in the POSIX format only. */
  readonly prefix?: string;
}

/** A header with its checksum. */
export function headerBlock(fields: HeaderFields): Buffer {
  const block = Buffer.alloc(BLOCK);
  putHeader(block, 0, fields);
  return block;
}

/** The largest numbers of 11 and 7 octal digits. */
const MAX_OCTAL_11 = 8 ** 11 - 1;
const MAX_OCTAL_7 = 8 ** 7 - 1;

/** Writes a header with its checksum into `target`, which has room for a block at `at`. */
export function putHeader(
  target: Buffer,
  at: number,
  { name, mode, uid = 0, gid = 0, size, mtime, type, linkName = '', magic, prefix = '' }: HeaderFields,
): void {
  target.fill(0, at, at + BLOCK);
  target.write(name, at, 100, 'latin1');
  putOctal(target, at + 100, mode, 7);
  putOctal(target, at + 108, uid > MAX_OCTAL_7 ? 0 : uid, 7);
  putOctal(target, at + 116, gid > MAX_OCTAL_7 ? 0 : gid, 7);
  if (size <= MAX_OCTAL_11) putOctal(target, at + 124, size, 11);
  else {
    // Base 256 (GNU), for sizes too large for octal digits.
    target[at + 124] = 0x80;
    target.writeUIntBE(size, at + 130, 6);
  }
  putOctal(target, at + 136, Math.min(Math.max(Math.floor(mtime), 0), MAX_OCTAL_11), 11);
  target[at + 156] = type.charCodeAt(0);
  target.write(linkName, at + 157, 100, 'latin1');
  target.write(magic, at + 257, 8, 'latin1');
  target.write(prefix, at + 345, 155, 'latin1');
  // The checksum itself counts as spaces.
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

/**
 * Ignored keywords: times, owners, comments, and private data of archivers. Sparse files use
 * `GNU.sparse.*` or `SCHILY.realsize`, and are rejected.
 */
const HARMLESS =
  /^(?:[acm]time|[ug]id|[ug]name|comment|charset|SCHILY\.(?:dev|ino|nlink|fflags|xattr\..+|acl\..+)|LIBARCHIVE\..+)$/;

export interface PaxRecords {
  readonly path?: string;
  readonly linkpath?: string;
  readonly size?: number;
}

/**
 * The records of a pax header that set an entry's path, link or size; values are bytes, as Latin-1.
 * @throws PortholeError `invalid_request` for malformed, duplicate or unknown records
 */
export function readPaxRecords(bytes: Buffer): PaxRecords {
  const records: { path?: string; linkpath?: string; size?: number } = {};
  for (let at = 0; at < bytes.length; ) {
    const length = /^([1-9]\d{0,7}) /.exec(bytes.toString('latin1', at, at + 9))?.[1];
    const end = at + Number(length ?? 0);
    const record = bytes.toString('latin1', at + (length ?? '').length + 1, end);
    const equals = record.indexOf('=');
    if (length === undefined || end > bytes.length || equals < 1 || !record.endsWith('\n')) {
      throw archiveError('an extended header cannot be read');
    }
    const key = record.slice(0, equals);
    const value = record.slice(equals + 1, -1);
    at = end;
    if (key === 'path' || key === 'linkpath') {
      if (records[key] !== undefined) throw archiveError(`an extended header has two of ${key}`);
      if (value === '' || value.includes('\0'))
        throw archiveError(`an extended header has a ${key} that is none`);
      records[key] = value;
    } else if (key === 'size') {
      if (records.size !== undefined || !/^\d{1,15}$/.test(value)) {
        throw archiveError('an extended header has a size that is none');
      }
      records.size = Number(value);
    } else if (!HARMLESS.test(key)) {
      throw archiveError(`an extended header has ${JSON.stringify(key.slice(0, 60))}, which is not taken`);
    }
  }
  return records;
}
