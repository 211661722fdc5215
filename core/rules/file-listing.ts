import { posix } from 'node:path';
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

const TYPES: Readonly<Record<number, FileEntry['type']>> = {
  0o100000: 'file',
  0o040000: 'directory',
  0o120000: 'symlink',
};

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

/**
 * Reads what `stat -c '<mark>%f %s %Y %n'` said of files below `folder`, by the bytes of their paths. `mark` is one that nobody knew beforehand, because names hold anything, line ends too. The sandbox may say
 * what it likes: what does not have this form is left out.
 */
export function readFileListing(said: Buffer, mark: string, folder: string): FileEntry[] {
  const records = said.toString('latin1').split(mark).slice(1);
  const found = records.flatMap((record) => {
    const [, mode = '', size = '', seconds = '', below = ''] =
      /^([0-9a-f]{1,8}) (\d{1,15}) (-?\d{1,15}) \.\/([^\0]+)\n$/.exec(record) ?? [];
    return below === ''
      ? []
      : [{ mode: Number.parseInt(mode, 16), size: Number(size), seconds: Number(seconds), below }];
  });
  // Latin-1 is bytes: their order is that of its characters.
  found.sort((a, b) => (a.below < b.below ? -1 : a.below > b.below ? 1 : 0));
  return found.map(({ mode, size, seconds, below }) => {
    const path = posix.join(folder, Buffer.from(below, 'latin1').toString('utf8'));
    const type = TYPES[mode & 0o170000] ?? 'other';
    return {
      path,
      name: path.slice(path.lastIndexOf('/') + 1),
      type,
      size: type === 'file' ? size : undefined,
      mtime: seconds >= FIRST_SECOND && seconds <= LAST_SECOND ? new Date(seconds * 1_000) : undefined,
      mode: mode & 0o7777,
    };
  });
}
