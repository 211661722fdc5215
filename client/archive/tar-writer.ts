import { concatBytes } from '../streams/byte-streams.ts';

/** One entry of an archive. Names are relative, with `/` between their parts. */
export type TarEntry = {
  readonly name: string;
  /** Permissions. @default 0o644, and 0o755 for a directory */
  readonly mode?: number | undefined;
  /** Seconds since 1970. @default 0 */
  readonly mtime?: number | undefined;
} & (
  | { readonly type: 'directory' }
  | { readonly type: 'symlink'; readonly target: string }
  | {
      readonly type: 'file';
      /** Size in bytes; `content` must have exactly this size. */
      readonly size: number;
      readonly content: Uint8Array | AsyncIterable<Uint8Array>;
    }
);

/**
 * Size of a header, and the unit to which contents are padded, in bytes (POSIX.1-2024, pax: ustar
 * interchange format).
 */
const BLOCK = 512;
/**
 * Buffered output before it is passed on, in bytes: an archive of small files has thousands of
 * headers.
 */
const PIECE = 65_536;
const MAX_NAME = 100;
const MAX_PREFIX = 155;
/** Eleven octal digits. */
const MAX_NUMBER = 0o77777777777;

/**
 * Name of an entry with an extended header. It must be harmless to readers that ignore the header.
 */
const PLACEHOLDER = 'PaxHeader/long-name';

const TYPE = { file: '0', symlink: '2', directory: '5', pax: 'x' } as const;

const encoder = new TextEncoder();

/** Size of an entry in an archive, in bytes. */
export function tarSize(entry: TarEntry): number {
  const { pax } = namesOf(entry);
  const before = pax === undefined ? 0 : BLOCK + padded(pax.length);
  return before + BLOCK + (entry.type === 'file' ? padded(entry.size) : 0);
}

/** Size of the end marker of an archive, in bytes: two blocks of zeros. */
export const TAR_END = 2 * BLOCK;

/**
 * Streams an archive (ustar, with pax headers for names that are too long).
 * @throws RangeError if a file does not have its declared size
 */
export async function* tar(
  entries: Iterable<TarEntry> | AsyncIterable<TarEntry>,
): AsyncGenerator<Uint8Array, void> {
  const piece = new Piece();
  for await (const entry of entries) {
    yield* piece.add(headersOf(entry));
    if (entry.type !== 'file') continue;
    let left = entry.size;
    for await (const chunk of entry.content instanceof Uint8Array ? [entry.content] : entry.content) {
      left -= chunk.length;
      if (left < 0) break;
      yield* piece.add(chunk);
    }
    if (left !== 0) {
      throw new RangeError(
        `${entry.name} does not have its ${entry.size} bytes: did it change during the read?`,
      );
    }
    yield* piece.add(new Uint8Array(padded(entry.size) - entry.size));
  }
  yield* piece.add(new Uint8Array(TAR_END));
  yield* piece.rest();
}

/** Buffers small chunks. Large ones pass unchanged. */
class Piece {
  #bytes = new Uint8Array(PIECE);
  #length = 0;

  *add(chunk: Uint8Array): Generator<Uint8Array, void> {
    if (this.#length + chunk.length > PIECE) yield* this.rest();
    if (chunk.length >= PIECE) {
      yield chunk;
      return;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length += chunk.length;
  }

  *rest(): Generator<Uint8Array, void> {
    if (this.#length === 0) return;
    yield this.#bytes.subarray(0, this.#length);
    // The reader may keep the buffer.
    this.#bytes = new Uint8Array(PIECE);
    this.#length = 0;
  }
}

interface Names {
  readonly name: Uint8Array;
  readonly prefix: Uint8Array;
  readonly link: Uint8Array;
  /** Records of an extended header; absent if none is needed. */
  readonly pax?: Uint8Array;
}

const NONE = new Uint8Array();

function namesOf(entry: TarEntry): Names {
  const path = entry.type === 'directory' && !entry.name.endsWith('/') ? `${entry.name}/` : entry.name;
  if (path === '' || path.startsWith('/') || path.includes('\0')) {
    throw new RangeError(
      `an entry's name must be relative and not empty, got ${JSON.stringify(entry.name.slice(0, 100))}`,
    );
  }
  const target = entry.type === 'symlink' ? entry.target : '';
  const short = splitName(path);
  const link = encoder.encode(target);
  if (short !== undefined && link.length <= MAX_NAME) return { ...short, link };
  const records = [
    ...(short === undefined ? [paxRecord('path', path)] : []),
    ...(link.length > MAX_NAME ? [paxRecord('linkpath', target)] : []),
  ];
  const pax = encoder.encode(records.join(''));
  return {
    ...(short ?? { name: encoder.encode(PLACEHOLDER), prefix: NONE }),
    link: link.length > MAX_NAME ? encoder.encode(PLACEHOLDER) : link,
    pax,
  };
}

/** The name in one field, or in two split at a slash; undefined if neither fits. */
function splitName(path: string): Pick<Names, 'name' | 'prefix'> | undefined {
  const bytes = encoder.encode(path);
  if (bytes.length <= MAX_NAME) return { name: bytes, prefix: NONE };
  const slash = bytes.indexOf(0x2f, bytes.length - MAX_NAME - 1);
  if (slash < 1 || slash > MAX_PREFIX || slash === bytes.length - 1) return undefined;
  return { name: bytes.subarray(slash + 1), prefix: bytes.subarray(0, slash) };
}

/** `length key=value\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = encoder.encode(rest).length;
  const digits = String(length + String(length).length).length;
  return `${length + digits}${rest}`;
}

function headersOf(entry: TarEntry): Uint8Array {
  const { pax, ...names } = namesOf(entry);
  const mode = entry.mode ?? (entry.type === 'directory' ? 0o755 : 0o644);
  const mtime = entry.mtime ?? 0;
  const size = entry.type === 'file' ? entry.size : 0;
  const own = header(names, TYPE[entry.type], size, mode, mtime);
  if (pax === undefined) return own;
  const placeholder = { name: encoder.encode(PLACEHOLDER), prefix: NONE, link: NONE };
  const extended = header(placeholder, TYPE.pax, pax.length, 0o644, mtime);
  return concatBytes([extended, pax, new Uint8Array(padded(pax.length) - pax.length), own]);
}

function header(
  { name, prefix, link }: Omit<Names, 'pax'>,
  type: string,
  size: number,
  mode: number,
  mtime: number,
): Uint8Array {
  if (!Number.isSafeInteger(size) || size < 0 || size > MAX_NUMBER) {
    throw new RangeError(`a file must have from 0 to ${MAX_NUMBER} bytes, got ${size}`);
  }
  const block = new Uint8Array(BLOCK);
  const number = (value: number, digits: number) => encoder.encode(value.toString(8).padStart(digits, '0'));
  block.set(name, 0);
  block.set(number(mode & 0o7777, 7), 100);
  // Owner and group are not used.
  block.set(number(0, 7), 108);
  block.set(number(0, 7), 116);
  block.set(number(size, 11), 124);
  block.set(number(Math.min(MAX_NUMBER, Math.max(0, Math.floor(mtime))), 11), 136);
  block.set(encoder.encode(' '.repeat(8)), 148);
  block.set(encoder.encode(type), 156);
  block.set(link, 157);
  block.set(encoder.encode('ustar\x0000'), 257);
  block.set(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.set(number(sum, 6), 148);
  block[154] = 0;
  return block;
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}
