import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { promisify } from 'node:util';
import { crc32, createDeflateRaw, createInflateRaw, type DeflateRaw, deflateRaw } from 'node:zlib';

/** One entry, as APPNOTE.TXT (PKWARE) describes it. */
export interface ZipEntry {
  /** Relative, without `.` and `..`; a folder's ends with `/`. */
  readonly path: string;
  /** Of Unix: type and permissions. */
  readonly mode: number;
  /** Seconds since 1970. */
  readonly mtime: number;
  /** Of the contents that follow. */
  readonly size: number;
  /** Whether compressing is worth trying. */
  readonly isCompressed: boolean;
}

/**
 * Contents up to this size are compressed whole, so that the header has their sizes; larger ones
 * have a data descriptor.
 */
const WHOLE_BYTES = 131_072;
/** Written in pieces of at least this size. */
const PIECE_BYTES = 65_536;
const MAX_32 = 0xffff_ffff;
const MAX_16 = 0xffff;
/** Deflate can make contents a little larger: sizes near the 32-bit limit use ZIP64 as well. */
const ZIP64_FROM = MAX_32 - 16_777_216;

const DEFLATED = 8;
const UTF8_NAME = 0x0800;
const HAS_DESCRIPTOR = 0x0008;
const BY_UNIX = 3 << 8;
const FOLDER_ATTRIBUTE = 0x10;

const deflate = promisify(deflateRaw) as (contents: Buffer) => Promise<Buffer>;

interface Open {
  readonly entry: ZipEntry;
  readonly offset: number;
  crc: number;
  size: number;
  packed: number;
  whole: Buffer[];
  stream: DeflateRaw | undefined;
}

/**
 * Writes a zip while its entries arrive. Memory does not grow with contents, and little with the
 * number of entries: the central directory is kept
 * compressed, some bytes an entry, until it is written at the end.
 */
export class ZipWriter {
  readonly #directory = createDeflateRaw({ level: 1 });
  readonly #packedDirectory: Buffer[] = [];
  #records: Buffer[] = [];
  #recordBytes = 0;
  #directoryBytes = 0;
  #entries = 0;
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #offset = 0;
  #open: Open | undefined;

  constructor() {
    this.#directory.on('data', (bytes: Buffer) => this.#packedDirectory.push(bytes));
  }

  /** The output that is ready; undefined until it is large enough for a piece. */
  take(least = PIECE_BYTES): Buffer | undefined {
    if (this.#pieceBytes < least || this.#pieceBytes === 0) return undefined;
    const piece = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#pieceBytes = 0;
    return piece;
  }

  /** Begins an entry and ends the previous one. */
  async begin(entry: ZipEntry): Promise<void> {
    await this.#end();
    this.#open = {
      entry,
      offset: this.#offset,
      crc: 0,
      size: 0,
      packed: 0,
      whole: [],
      stream: undefined,
    };
    if (entry.size <= WHOLE_BYTES) return;
    this.#put(localHeader(entry, HAS_DESCRIPTOR, DEFLATED, 0, 0, 0));
    const open = this.#open;
    open.stream = createDeflateRaw();
    open.stream.on('data', (bytes: Buffer) => {
      open.packed += bytes.length;
      this.#put(bytes);
    });
  }

  /** Adds contents to the current entry. The caller may reuse the buffer afterwards. */
  async write(contents: Buffer): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    open.crc = crc32(contents, open.crc);
    open.size += contents.length;
    if (open.stream === undefined) open.whole.push(Buffer.from(contents));
    else await written(open.stream, contents);
  }

  /** The end of the archive, in pieces. */
  async *finish(): AsyncGenerator<Buffer, void, undefined> {
    await this.#end();
    await this.#keepRecords();
    this.#directory.end();
    await finished(this.#directory);
    const rest = this.take(1);
    if (rest !== undefined) yield rest;
    const start = this.#offset;
    const directory = Readable.from(this.#packedDirectory, { objectMode: false }).pipe(createInflateRaw());
    for await (const bytes of directory) yield bytes as Buffer;
    yield endOfDirectory(this.#entries, this.#directoryBytes, start);
  }

  /** Frees the resources of an unfinished archive. */
  destroy(): void {
    this.#open?.stream?.destroy();
    this.#directory.destroy();
  }

  #put(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.#pieceBytes += bytes.length;
    this.#offset += bytes.length;
  }

  async #end(): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const { entry, crc, size, offset } = open;
    let flags = 0;
    let method = 0;
    if (open.stream === undefined) {
      const contents = Buffer.concat(open.whole);
      const packed = entry.isCompressed && size > 0 ? await deflate(contents) : contents;
      const isSmaller = packed.length < size;
      method = isSmaller ? DEFLATED : 0;
      open.packed = isSmaller ? packed.length : size;
      this.#put(localHeader(entry, 0, method, crc, open.packed, size));
      this.#put(isSmaller ? packed : contents);
    } else {
      flags = HAS_DESCRIPTOR;
      method = DEFLATED;
      open.stream.end();
      await finished(open.stream);
      this.#put(descriptor(entry, crc, open.packed, size));
    }
    this.#records.push(directoryRecord(entry, flags, method, crc, open.packed, size, offset));
    this.#recordBytes += this.#records.at(-1)?.length ?? 0;
    this.#entries += 1;
    if (this.#recordBytes >= PIECE_BYTES) await this.#keepRecords();
  }

  async #keepRecords(): Promise<void> {
    this.#directoryBytes += this.#recordBytes;
    const records = Buffer.concat(this.#records);
    this.#records = [];
    this.#recordBytes = 0;
    if (records.length > 0) await written(this.#directory, records);
  }
}

function written(stream: DeflateRaw, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

/** Whether its own header says that sizes have 64 bits. */
function isLarge({ size }: ZipEntry): boolean {
  return size >= ZIP64_FROM;
}

function localHeader(
  entry: ZipEntry,
  flags: number,
  method: number,
  crc: number,
  packed: number,
  size: number,
): Buffer {
  const name = Buffer.from(entry.path);
  const large = isLarge(entry);
  // Its sizes follow in the descriptor.
  const extra = large ? 9 + 20 : 9;
  const header = zeroes(30 + name.length + extra);
  header.writeUInt32LE(0x0403_4b50, 0);
  header.writeUInt16LE(large ? 45 : 20, 4);
  header.writeUInt16LE(flags | UTF8_NAME, 6);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE(dosTime(entry.mtime), 10);
  header.writeUInt32LE(crc, 14);
  header.writeUInt32LE(large ? MAX_32 : packed, 18);
  header.writeUInt32LE(large ? MAX_32 : size, 22);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra, 28);
  name.copy(header, 30);
  const at = writeUnixTime(header, 30 + name.length, entry.mtime);
  if (large) {
    header.writeUInt16LE(0x0001, at);
    header.writeUInt16LE(16, at + 2);
  }
  return header;
}

function descriptor(entry: ZipEntry, crc: number, packed: number, size: number): Buffer {
  const large = isLarge(entry);
  const bytes = Buffer.alloc(large ? 24 : 16);
  bytes.writeUInt32LE(0x0807_4b50, 0);
  bytes.writeUInt32LE(crc, 4);
  if (large) {
    bytes.writeBigUInt64LE(BigInt(packed), 8);
    bytes.writeBigUInt64LE(BigInt(size), 16);
  } else {
    bytes.writeUInt32LE(packed, 8);
    bytes.writeUInt32LE(size, 12);
  }
  return bytes;
}

function directoryRecord(
  entry: ZipEntry,
  flags: number,
  method: number,
  crc: number,
  packed: number,
  size: number,
  offset: number,
): Buffer {
  const name = Buffer.from(entry.path);
  // APPNOTE.TXT: in this order, and each only if its own field is too small.
  const wide = [size, packed, offset].filter((value) => value >= MAX_32);
  const extra = 9 + (wide.length > 0 ? 4 + 8 * wide.length : 0);
  const record = zeroes(46 + name.length + extra);
  record.writeUInt32LE(0x0201_4b50, 0);
  record.writeUInt16LE(BY_UNIX | 45, 4);
  record.writeUInt16LE(wide.length > 0 || isLarge(entry) ? 45 : 20, 6);
  record.writeUInt16LE(flags | UTF8_NAME, 8);
  record.writeUInt16LE(method, 10);
  record.writeUInt32LE(dosTime(entry.mtime), 12);
  record.writeUInt32LE(crc, 16);
  record.writeUInt32LE(Math.min(packed, MAX_32), 20);
  record.writeUInt32LE(Math.min(size, MAX_32), 24);
  record.writeUInt16LE(name.length, 28);
  record.writeUInt16LE(extra, 30);
  const attributes = entry.path.endsWith('/') ? FOLDER_ATTRIBUTE : 0;
  record.writeUInt32LE(((entry.mode << 16) | attributes) >>> 0, 38);
  record.writeUInt32LE(Math.min(offset, MAX_32), 42);
  name.copy(record, 46);
  let at = writeUnixTime(record, 46 + name.length, entry.mtime);
  if (wide.length > 0) {
    record.writeUInt16LE(0x0001, at);
    record.writeUInt16LE(8 * wide.length, at + 2);
    at += 4;
    for (const value of wide) {
      record.writeBigUInt64LE(BigInt(value), at);
      at += 8;
    }
  }
  return record;
}

function endOfDirectory(entries: number, bytes: number, start: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x0605_4b50, 0);
  end.writeUInt16LE(Math.min(entries, MAX_16), 8);
  end.writeUInt16LE(Math.min(entries, MAX_16), 10);
  end.writeUInt32LE(Math.min(bytes, MAX_32), 12);
  end.writeUInt32LE(Math.min(start, MAX_32), 16);
  if (entries < MAX_16 && bytes < MAX_32 && start < MAX_32) return end;
  const wide = Buffer.alloc(56 + 20);
  wide.writeUInt32LE(0x0606_4b50, 0);
  wide.writeBigUInt64LE(44n, 4);
  wide.writeUInt16LE(BY_UNIX | 45, 12);
  wide.writeUInt16LE(45, 14);
  wide.writeBigUInt64LE(BigInt(entries), 24);
  wide.writeBigUInt64LE(BigInt(entries), 32);
  wide.writeBigUInt64LE(BigInt(bytes), 40);
  wide.writeBigUInt64LE(BigInt(start), 48);
  wide.writeUInt32LE(0x0706_4b50, 56);
  wide.writeBigUInt64LE(BigInt(start + bytes), 64);
  wide.writeUInt32LE(1, 72);
  return Buffer.concat([wide, end]);
}

/** From Node's pool: `alloc` would make a separate allocation for each entry. */
function zeroes(size: number): Buffer {
  return Buffer.allocUnsafe(size).fill(0);
}

/** The "extended timestamp" of Info-ZIP. @returns where it ends */
function writeUnixTime(to: Buffer, at: number, mtime: number): number {
  to.writeUInt16LE(0x5455, at);
  to.writeUInt16LE(5, at + 2);
  to.writeUInt8(1, at + 4);
  to.writeInt32LE(mtime, at + 5);
  return at + 9;
}

/**
 * MS-DOS date and time, in UTC: readers that support the extended timestamp ignore it.
 */
function dosTime(mtime: number): number {
  const time = new Date(mtime * 1_000);
  const date = ((time.getUTCFullYear() - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate();
  const clock =
    (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | Math.floor(time.getUTCSeconds() / 2);
  return ((date << 16) | clock) >>> 0;
}
