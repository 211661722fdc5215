import { headerBlock } from './header-block.ts';
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
  // Cut, where one is too long: the true one stands before.
  const cut = (text: string) => Buffer.from(text).toString('latin1', 0, MAX_NAME - 1);
  return headerBlock({
    name: cut(name),
    mode: 0o644,
    size,
    mtime,
    type,
    linkName: cut(linkName),
    magic: 'ustar  \0',
  });
}
