import { headerBlock, BLOCK } from './tar-header.ts';

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
function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}
