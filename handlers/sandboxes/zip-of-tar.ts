import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import yazl from 'yazl';
import type { TarHeader } from '#core/rules/archive/tar-header.ts';
import type { Note } from '#core/rules/archive/tar-words.ts';
import { judgedEntries, type TarPiece } from '#core/use-cases/judged-tar.ts';

/** Of what kind an entry is, in the upper bits of its mode, as Unix and so zip have it. */
const FILE = 0o100000;
const LINK = 0o120000;
/** The times that zip can tell, in seconds since 1970: those of its own field are local and end in 2107, those of its extra field in 2038. */
const FIRST_TIME = 315_532_800;
const LAST_TIME = 2_147_483_647;

/**
 * A tar that comes out of a sandbox as a zip, as it comes: one entry at a time, each compressed on its way, at the pace of its reader. Symbolic links are stored as links, as Info-ZIP does; pipes and hard links are left out, and so is what `judgedTar` leaves out.
 */
export function zipOfTar(tar: Readable, note: () => Note | undefined): Readable {
  const zip = new yazl.ZipFile();
  const output = zip.outputStream as PassThrough;
  const gone = new AbortController();
  output.once('close', () => {
    gone.abort();
    tar.destroy();
  });
  zip.on('error', (error) => output.destroy(error));
  fill(zip, output, judgedEntries(tar as AsyncIterable<Buffer>, note), gone.signal).catch((error: Error) =>
    output.destroy(error),
  );
  return output;
}

async function fill(
  zip: yazl.ZipFile,
  output: PassThrough,
  pieces: AsyncIterable<TarPiece>,
  gone: AbortSignal,
): Promise<void> {
  let open: PassThrough | undefined;
  /** Ends the entry that is open; resolves once it has gone, so that nothing piles up here. */
  const close = async () => {
    if (open !== undefined) {
      const read = once(open, 'end', { signal: gone });
      open.end();
      await read;
    }
    open = undefined;
    if (output.writableNeedDrain) await once(output, 'drain', { signal: gone });
  };
  for await (const piece of pieces) {
    if ('contents' in piece) {
      if (open?.write(piece.contents) === false) await once(open, 'drain', { signal: gone });
      continue;
    }
    await close();
    open = add(zip, piece.entry);
  }
  await close();
  zip.end();
}

/** Where the contents of a file go. */
function add(
  zip: yazl.ZipFile,
  { name, linkName, type, size, mode, mtime }: TarHeader,
): PassThrough | undefined {
  const path = zipPath(name);
  const about = { mtime: new Date(Math.min(Math.max(mtime, FIRST_TIME), LAST_TIME) * 1_000) };
  if (path === '') return undefined;
  if (type === 'directory') zip.addEmptyDirectory(path, { ...about, mode: 0o040000 | mode });
  if (type === 'symlink') {
    const target = Buffer.from(linkName, 'latin1');
    zip.addBuffer(target, path, { ...about, mode: LINK | 0o777, compress: false });
  }
  if (type !== 'file') return undefined;
  const contents = new PassThrough();
  zip.addReadStream(contents, path, { ...about, mode: FILE | mode, size });
  return contents;
}

/** In zip a backslash and a colon behind the first letter mean something on some systems. */
function zipPath(name: string): string {
  const parts = Buffer.from(name, 'latin1')
    .toString('utf8')
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  return parts.map((part) => part.replace(/\\/g, '_').replace(/^([A-Za-z]):/, '$1_')).join('/');
}
