import { type TarValidatorOptions, TarValidator } from '../rules/archive/tar-validator.ts';
import type { TarHeader } from '../rules/archive/tar-header.ts';
import { END_OF_ARCHIVE } from '../rules/archive/write-tar.ts';

/**
 * A tar that comes out of a sandbox, made safe to hand on: without the entries that would be refused on their way back, which are devices, names that are absolute or have ".." in them, and what lies beyond a
 * link. Symbolic links stay, wherever they lead.
 * @param leftOut told how many were left out, once all is done
 * @throws PortholeError `invalid_request` for what cannot be read as a tar
 */
export async function* validatedTar(
  source: AsyncIterable<Buffer>,
  leftOut?: (entries: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const entries = yield* validatedBytes(source, { remembers: 'folders', leavesOut: true });
  leftOut?.(entries);
}

/**
 * The entries that the judge takes, as they are, and the end of the archive.
 * @returns how many were left out
 * @throws PortholeError `invalid_request`
 */
export async function* validatedBytes(
  source: AsyncIterable<Buffer>,
  options: Omit<TarValidatorOptions, 'visitor'>,
): AsyncGenerator<Buffer, number, undefined> {
  let pieces: Buffer[] = [];
  const take = (bytes: Buffer) => void pieces.push(bytes);
  const validator = new TarValidator({
    ...options,
    visitor: {
      entry: (_entry, headers) => take(headers),
      contents: take,
      padding: take,
    },
  });
  for await (const chunk of source) {
    validator.push(chunk);
    const [first, ...more] = pieces;
    // Most of a large file comes as it is.
    if (first !== undefined) yield more.length === 0 ? first : Buffer.concat(pieces);
    pieces = [];
  }
  validator.end();
  yield END_OF_ARCHIVE;
  return validator.leftOut;
}

/** An entry that begins, or a piece of the contents of the one that began last. */
export type TarPiece = { readonly entry: TarHeader } | { readonly contents: Buffer };

/** The same, for whoever wants what is in it. */
export async function* validatedEntries(
  source: AsyncIterable<Buffer>,
): AsyncGenerator<TarPiece, void, undefined> {
  let pieces: TarPiece[] = [];
  const validator = new TarValidator({
    remembers: 'folders',
    leavesOut: true,
    visitor: {
      entry: (entry) => void pieces.push({ entry }),
      contents: (contents) => void pieces.push({ contents }),
      padding: () => undefined,
    },
  });
  for await (const chunk of source) {
    validator.push(chunk);
    yield* pieces;
    pieces = [];
  }
  validator.end();
}
