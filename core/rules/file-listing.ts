import type { FileStat } from '#guest/protocol/files.ts';

/** What is known of one file, whatever its kind; links are not followed. */
export interface FileEntry {
  /** Absolute. Bytes of a name that are no UTF-8 are U+FFFD, here and below. */
  readonly path: string;
  /** Its last part. */
  readonly name: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  /** In bytes, of a file. */
  readonly size: number | undefined;
  /** To the second; undefined where RFC 3339 has no word for it. */
  readonly mtime: Date | undefined;
  /** Permissions, and the three bits above them: 0..0o7777. */
  readonly mode: number;
}

/** What the guest says of an entry. */
export function fileEntryOf({ path, type, size, mtime, mode }: FileStat): FileEntry {
  return {
    path,
    name: path.slice(path.lastIndexOf('/') + 1),
    type,
    size: type === 'file' ? size : undefined,
    mtime: mtime >= FIRST_SECOND && mtime <= LAST_SECOND ? new Date(mtime * 1_000) : undefined,
    mode,
  };
}

/** The seconds that RFC 3339 can tell: those of the years 0000 to 9999. */
const FIRST_SECOND = -62_167_219_200;
const LAST_SECOND = 253_402_300_799;
