import { ArchiveTree, type Remembered } from './archive-tree.ts';
import {
  archiveError,
  BLOCK,
  bySlash,
  type PaxRecords,
  readPaxRecords,
  readTarHeader,
  shown,
  type TarHeader,
  withoutSlash,
} from './tar-header.ts';
import { END_OF_ARCHIVE } from './write-tar.ts';

/** Most bytes of the long names and records before an entry. */
const MAX_META = 65_536;

/** Overrides for the next entry, from long names and pax headers. */
interface PaxOverrides extends PaxRecords {
  readonly isLong?: boolean;
}

/** Receives the validated contents of an archive, piece by piece. */
interface TarVisitor {
  /**
   * An entry begins. @param headers all bytes before its contents: its header, and long names and
   * records. Every reader interprets them alike
   */
  entry(entry: TarHeader, headers: Buffer): void;
  /** Some of its contents. */
  contents(bytes: Buffer): void;
  /** The padding of its last block. */
  padding(bytes: Buffer): void;
}

interface TarValidatorOptions {
  /** `none`: checks only that it is a tar; entries may have any type and path. @default all */
  readonly remembers?: Remembered | 'none';
  /**
   * Whether a rejected entry is left out and counted, instead of rejecting the whole archive. An
   * invalid tar is always rejected. @default false
   */
  readonly leavesOut?: boolean;
  readonly visitor?: TarVisitor;
}

/**
 * Validates a tar as a stream of chunks. Rejects one that could create anything outside the
 * workspace, or that two readers may interpret differently. Holds one entry's header or names at a
 * time, and all paths.
 */
export class TarValidator {
  readonly #tree: ArchiveTree | undefined;
  readonly #leavesOut: boolean;
  readonly #visitor: TarVisitor | undefined;
  /** The headers read so far of the current entry, for the visitor. */
  #headers: Buffer[] = [];
  /** Whether the current entry is left out. */
  #isLeftOut = false;
  #leftOut = 0;
  /** The bytes read so far of a header, a name or a record. */
  #held: Buffer = Buffer.alloc(0);
  /** Remaining bytes of the contents, and of their padding. */
  #contents = 0;
  #padding = 0;
  /** The current long name, long link or pax header. */
  #meta: { readonly header: TarHeader; readonly padded: number } | undefined;
  #pax: PaxOverrides = {};
  #hasEnded = false;
  #bytes = 0;

  constructor({ remembers = 'all', leavesOut = false, visitor }: TarValidatorOptions = {}) {
    this.#tree = remembers === 'none' ? undefined : new ArchiveTree(remembers);
    this.#leavesOut = leavesOut;
    this.#visitor = visitor;
  }

  /** How many entries were left out. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** @throws PortholeError `invalid_request` */
  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#contents > 0) {
        const piece = rest.subarray(0, this.#contents);
        this.#contents -= piece.length;
        if (!this.#isLeftOut) this.#visitor?.contents(piece);
        rest = rest.subarray(piece.length);
        continue;
      }
      if (this.#padding > 0) {
        const piece = rest.subarray(0, this.#padding);
        this.#padding -= piece.length;
        if (!this.#isLeftOut) this.#visitor?.padding(piece);
        rest = rest.subarray(piece.length);
        continue;
      }
      const wanted = this.#meta?.padded ?? BLOCK;
      const taken = rest.subarray(0, wanted - this.#held.length);
      rest = rest.subarray(taken.length);
      const whole = this.#held.length === 0 ? taken : Buffer.concat([this.#held, taken]);
      if (whole.length < wanted) this.#held = whole === taken ? Buffer.from(taken) : whole;
      else {
        this.#held = Buffer.alloc(0);
        if (this.#meta === undefined) this.#block(whole);
        else this.#metaEnds(whole, this.#meta.header);
      }
    }
  }

  /** @throws PortholeError `invalid_request` if it is truncated */
  end(): void {
    if (this.#bytes === 0) return;
    const isWhole =
      this.#held.length === 0 && this.#contents + this.#padding === 0 && this.#meta === undefined;
    if (!isWhole || this.#bytes % BLOCK !== 0) throw archiveError('it is cut off');
    if (this.#isReported()) throw archiveError('it ends where an entry must follow');
  }

  #block(block: Buffer): void {
    const isZero = block.every((byte) => byte === 0);
    if (this.#hasEnded) {
      if (isZero) return;
      throw archiveError('something follows its end');
    }
    if (isZero) {
      this.#hasEnded = true;
      return;
    }
    this.#headers.push(Buffer.from(block));
    this.#entry(readTarHeader(block));
  }

  #entry(header: TarHeader): void {
    const { type, size } = header;
    if (type === 'long-name' || type === 'long-link' || type === 'pax' || type === 'pax-global') {
      if (size === 0 || size > MAX_META)
        throw archiveError(`a name or an extended header is ${size} bytes long`);
      // Some readers drop earlier long names and records here.
      if (type === 'pax-global' && this.#isReported()) throw archiveError('an entry is named twice');
      this.#meta = { header, padded: padded(size) };
      return;
    }
    const pax = this.#pax;
    this.#pax = {};
    // Readers without pax support would read contents as entries.
    if (pax.size !== undefined && pax.size !== size) {
      throw archiveError(`${shown(header.name)} has two sizes`);
    }
    const entry =
      pax.path === undefined
        ? bySlash({ ...header, linkName: pax.linkpath ?? header.linkName })
        : { ...header, name: pax.path, linkName: pax.linkpath ?? header.linkName };
    const headers = this.#headers;
    this.#headers = [];
    const own = headers.at(-1);
    if (own !== undefined && pax.path !== undefined && entry.type === 'file')
      headers.splice(-1, 1, withoutSlash(own));
    this.#isLeftOut = !this.#isTaken(header, entry, pax);
    if (!this.#isLeftOut) this.#visitor?.entry(entry, Buffer.concat(headers));
    this.#contents = size;
    this.#padding = padded(size) - size;
  }

  /** False if the entry is left out. */
  #isTaken(header: TarHeader, entry: TarHeader, pax: PaxOverrides): boolean {
    try {
      this.#tree?.add(entry);
      // Some readers ignore long names and records: the header's own names must be safe too.
      if (pax.path !== undefined || pax.linkpath !== undefined) this.#tree?.check(header);
      return true;
    } catch (error) {
      if (!this.#leavesOut) throw error;
      this.#leftOut += 1;
      return false;
    }
  }

  #metaEnds(block: Buffer, { type, size }: TarHeader): void {
    const bytes = block.subarray(0, size);
    this.#meta = undefined;
    this.#headers.push(Buffer.from(block));
    if (type === 'pax-global') {
      this.#headers = [];
      const records = readPaxRecords(bytes);
      if (Object.keys(records).length > 0) throw archiveError('a global header says where entries go');
      return;
    }
    if (type === 'pax') {
      if (this.#isReported()) throw archiveError('an entry is named twice');
      this.#pax = readPaxRecords(bytes);
      return;
    }
    const key = type === 'long-name' ? 'path' : 'linkpath';
    if (this.#pax[key] !== undefined || (this.#isReported() && this.#pax.isLong !== true)) {
      throw archiveError('an entry is named twice');
    }
    const end = bytes.indexOf(0);
    if (end !== -1 && end < bytes.length - 1) throw archiveError('a long name has a NUL in it');
    this.#pax = {
      ...this.#pax,
      [key]: bytes.toString('latin1', 0, end === -1 ? undefined : end),
      isLong: true,
    };
  }

  #isReported(): boolean {
    return Object.keys(this.#pax).length > 0;
  }
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

/**
 * A tar from a sandbox, made safe to extract: leaves out the entries that an upload would reject,
 * which are devices, names that are absolute or contain "..", and paths through a link. Symbolic
 * links stay, whatever their target.
 * @param leftOut called at the end with the number of entries left out
 * @throws PortholeError `invalid_request` if it is not a tar
 */
export async function* validatedTar(
  source: AsyncIterable<Buffer>,
  leftOut?: (entries: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  let pieces: Buffer[] = [];
  const take = (bytes: Buffer) => void pieces.push(bytes);
  const validator = new TarValidator({
    remembers: 'folders',
    leavesOut: true,
    visitor: {
      entry: (_entry, headers) => take(headers),
      contents: take,
      padding: take,
    },
  });
  for await (const chunk of source) {
    validator.push(chunk);
    const [first, ...more] = pieces;
    // Avoids copies: most chunks of a large file are a single piece.
    if (first !== undefined) yield more.length === 0 ? first : Buffer.concat(pieces);
    pieces = [];
  }
  validator.end();
  yield END_OF_ARCHIVE;
  leftOut?.(validator.leftOut);
}

/**
 * The chunks of a tar, unchanged: entries may have any type and path. Adds the end of the archive,
 * which may be missing. @throws PortholeError `invalid_request` if it is not a tar
 */
export async function* checkedTar(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const validator = new TarValidator({ remembers: 'none' });
  for await (const chunk of source) {
    validator.push(chunk);
    yield chunk;
  }
  validator.end();
  yield Buffer.from(END_OF_ARCHIVE);
}

/** The start of an entry, or a piece of the current entry's contents. */
type TarPiece = { readonly entry: TarHeader } | { readonly contents: Buffer };

/** Like `validatedTar`, as entries instead of bytes. */
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
