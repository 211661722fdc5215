import { type JudgeOptions, TarJudge } from '../rules/archive/tar-judge.ts';
import type { TarHeader } from '../rules/archive/tar-header.ts';
import type { Note } from '../rules/archive/tar-words.ts';
import { tarMember, tarPadding } from '../rules/archive/tar-writer.ts';
import { END_OF_ARCHIVE } from '../rules/archive/write-tar.ts';

/**
 * A tar that comes out of a sandbox, made safe to hand on: without the entries that would be refused on their way back, which are devices, names that are absolute or have ".." in them, and what lies beyond a
 * link. Symbolic links stay, wherever they lead.
 * @param note tells what is not in it, asked once all is read; becomes its last entry
 * @param leftOut told how many were left out, once all is done
 * @throws PortholeError `invalid_request` for what cannot be read as a tar
 */
export async function* judgedTar(
  source: AsyncIterable<Buffer>,
  note: () => Note | undefined,
  leftOut?: (entries: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const entries = yield* judgedBytes(source, { remembers: 'folders', leavesOut: true }, note);
  leftOut?.(entries);
}

/**
 * The entries that the judge takes, as they are, and the end of the archive.
 * @param seen gets each entry
 * @returns how many were left out
 * @throws PortholeError `invalid_request`
 */
export async function* judgedBytes(
  source: AsyncIterable<Buffer>,
  options: Omit<JudgeOptions, 'visitor'>,
  note: () => Note | undefined = () => undefined,
  seen: (entry: TarHeader) => void = () => undefined,
): AsyncGenerator<Buffer, number, undefined> {
  let pieces: Buffer[] = [];
  const take = (bytes: Buffer) => void pieces.push(bytes);
  const judge = new TarJudge({
    ...options,
    visitor: {
      entry(entry, headers) {
        seen(entry);
        take(headers);
      },
      contents: take,
      padding: take,
    },
  });
  for await (const chunk of source) {
    judge.push(chunk);
    const [first, ...more] = pieces;
    // Most of a large file comes as it is.
    if (first !== undefined) yield more.length === 0 ? first : Buffer.concat(pieces);
    pieces = [];
  }
  judge.end();
  const told = note();
  if (told !== undefined) {
    const { content, ...member } = told;
    yield Buffer.concat([
      tarMember({ ...member, size: content.length }),
      content,
      tarPadding(content.length),
    ]);
  }
  yield END_OF_ARCHIVE;
  return judge.leftOut;
}

/** An entry that begins, or a piece of the contents of the one that began last. */
export type TarPiece = { readonly entry: TarHeader } | { readonly contents: Buffer };

/** The same, for whoever wants what is in it. */
export async function* judgedEntries(
  source: AsyncIterable<Buffer>,
  note: () => Note | undefined,
): AsyncGenerator<TarPiece, void, undefined> {
  let pieces: TarPiece[] = [];
  const judge = new TarJudge({
    remembers: 'folders',
    leavesOut: true,
    visitor: {
      entry: (entry) => void pieces.push({ entry }),
      contents: (contents) => void pieces.push({ contents }),
      padding: () => undefined,
    },
  });
  for await (const chunk of source) {
    judge.push(chunk);
    yield* pieces;
    pieces = [];
  }
  judge.end();
  const told = note();
  if (told === undefined) return;
  const { name, mtime, content } = told;
  yield { entry: { name, mtime, linkName: '', type: 'file', size: content.length, mode: 0o644 } };
  yield { contents: content };
}
