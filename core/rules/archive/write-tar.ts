import { BLOCK } from './tar-header.ts';

/** Where a name may be cut into two fields, in bytes. */
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
 * The entry of a file, without what ends an archive: entries one after the other are one. Owners and times are none, so that equal files make equal bytes.
 * @throws RangeError for a path that does not fit
 */
export function tarEntry({ path, isExecutable, content }: TarFile): Buffer {
  const names = cut(path);
  if (names === undefined) throw new RangeError(`the path ${JSON.stringify(path)} does not fit a tar header`);
  const padded = Math.ceil(content.length / BLOCK) * BLOCK;
  const entry = Buffer.alloc(BLOCK + padded);
  entry.write(names.name, 0, 'utf8');
  entry.write(octal(isExecutable ? 0o755 : 0o644, 7), 100);
  entry.write(octal(0, 7), 108);
  entry.write(octal(0, 7), 116);
  entry.write(octal(content.length, 11), 124);
  entry.write(octal(0, 11), 136);
  entry.write('        0', 148);
  entry.write('ustar\x0000', 257);
  entry.write(names.prefix, 345, 'utf8');
  const sum = entry.subarray(0, BLOCK).reduce((total, byte) => total + byte, 0);
  entry.write(`${octal(sum, 6)}\0 `, 148);
  entry.set(content, BLOCK);
  return entry;
}

/** At a slash, so that both parts fit; the name is as long as can be. */
function cut(path: string): { readonly prefix: string; readonly name: string } | undefined {
  if (Buffer.byteLength(path) <= NAME) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(name) <= NAME)
      return Buffer.byteLength(prefix) <= PREFIX ? { prefix, name } : undefined;
  }
  return undefined;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}
