import { BLOCK, headerBlock, type HeaderFields, putHeader } from './tar-header.ts';

/** Sizes of the two fields of a name, in bytes. */
const NAME = 100;
const PREFIX = 155;

export interface TarFile {
  /** Relative, without `.` and `..`. */
  readonly path: string;
  readonly isExecutable: boolean;
  readonly content: Uint8Array;
}

/** How an archive ends (POSIX): two blocks of zeros. */
export const END_OF_ARCHIVE = Buffer.alloc(2 * BLOCK);

/** Whether a plain header (POSIX.1-1988, ustar) can hold the path. */
export function fitsTar(path: string): boolean {
  return cut(path) !== undefined;
}

/**
 * The entry of a file, without the end-of-archive blocks, so that entries can be concatenated.
 * Deterministic: owners and times are 0.
 * @throws RangeError for a path that does not fit
 */
export function tarEntry({ path, isExecutable, content }: TarFile): Buffer {
  const names = cut(path);
  if (names === undefined) throw new RangeError(`the path ${JSON.stringify(path)} does not fit a tar header`);
  const header = headerBlock({
    name: latin1(names.name),
    mode: isExecutable ? 0o755 : 0o644,
    size: content.length,
    mtime: 0,
    type: '0',
    magic: 'ustar\x0000',
    prefix: latin1(names.prefix),
  });
  return Buffer.concat([header, content, padding(content.length)]);
}

/** Headers take bytes as Latin-1. */
function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Splits at a slash, so that both parts fit; the name is as long as possible. */
function cut(path: string): { readonly prefix: string; readonly name: string } | undefined {
  if (Buffer.byteLength(path) <= NAME) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(name) <= NAME)
      return Buffer.byteLength(prefix) <= PREFIX ? { prefix, name } : undefined;
  }
  return undefined;
}

/** Fills the last block of contents. */
export function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

const GNU = 'ustar  \0';

/**
 * Writes the headers of an entry as GNU tar does, with names of any length, into `target`, which
 * has room for them. Names are bytes, as Latin-1. Returns where they end.
 */
export function putGnuHeaders(
  target: Buffer,
  at: number,
  fields: Omit<HeaderFields, 'magic' | 'prefix'>,
): number {
  const { name, linkName = '' } = fields;
  let end = putLongName(target, at, 'L', name);
  end = putLongName(target, end, 'K', linkName);
  putHeader(target, end, { ...fields, name: shortened(name), linkName: shortened(linkName), magic: GNU });
  return end + BLOCK;
}

/** GNU's header for a name that is too long for its field. */
function putLongName(target: Buffer, at: number, type: 'L' | 'K', name: string): number {
  if (name.length <= NAME) return at;
  const size = name.length + 1;
  putHeader(target, at, { name: '././@LongLink', mode: 0o644, size, mtime: 0, type, magic: GNU });
  const padded = Math.ceil(size / BLOCK) * BLOCK;
  target.fill(0, at + BLOCK, at + BLOCK + padded);
  target.write(name, at + BLOCK, 'latin1');
  return at + BLOCK + padded;
}

/** A truncated name must not end like a folder's. */
function shortened(name: string): string {
  return name.length > NAME ? name.slice(0, NAME - 1).replace(/\/$/, '_') : name;
}
