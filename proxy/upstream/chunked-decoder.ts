/** Bytes of extensions after one chunk size; extensions are dropped. */
const MAX_EXTENSION = 256;
/** Bytes by which all extensions may exceed the data: they are read byte by byte. */
const MAX_EXTENDED = 16 * 1024;
/** Bytes of all trailers; trailers are dropped. */
const MAX_TRAILER = 16 * 1024;
/** Hexadecimal digits: 2^48 bytes, far below where numbers lose precision. */
const MAX_DIGITS = 12;

/** Bytes. Smaller parts of one portion go on together. */
const SMALL_PART = 1024;

const CR = 0x0d;
const LF = 0x0a;

const SIZE = 0;
const SIZE_SPACE = 1;
const EXTENSION = 2;
const SIZE_LF = 3;
const DATA = 4;
const DATA_CR = 5;
const DATA_LF = 6;
const TRAILER_START = 7;
const TRAILER_LINE = 8;
const TRAILER_LF = 9;
const LAST_LF = 10;
const DONE = 11;

/**
 * A chunked body, decoded strictly; only small chunks are copied. Lines end in CR LF, sizes are
 * plain hexadecimal, extensions and trailers are limited. Bytes may arrive in any portions.
 */
export class ChunkedDecoder {
  #state = SIZE;
  #size = 0;
  #digits = 0;
  #count = 0;
  #trailer = 0;
  #extended = 0;

  get done(): boolean {
    return this.#state === DONE;
  }

  /**
   * Decodes from `from` on. Returns the index after the last byte used, which is the end unless the
   * body is done; -1: malformed.
   */
  decode(bytes: Buffer, from: number, data: (part: Buffer) => void): number {
    let at = from;
    const small = new SmallParts(data);
    while (at < bytes.length && this.#state !== DONE) {
      if (this.#state === DATA) {
        const end = Math.min(bytes.length, at + this.#size);
        this.#size -= end - at;
        this.#extended = Math.max(0, this.#extended - (end - at));
        if (this.#size === 0) this.#state = DATA_CR;
        if (end - at < SMALL_PART) small.add(bytes, at, end);
        else {
          small.send();
          data(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
        }
        at = end;
      } else if (!this.#step(bytes[at++] as number)) {
        small.send();
        return -1;
      }
    }
    small.send();
    return at;
  }

  /** One byte outside of chunk data. False: malformed. */
  #step(byte: number): boolean {
    switch (this.#state) {
      case SIZE: {
        const digit = hexDigit(byte);
        if (digit >= 0) {
          this.#size = this.#size * 16 + digit;
          this.#digits += 1;
          return this.#digits <= MAX_DIGITS;
        }
        this.#count = 0;
        return this.#digits > 0 && this.#afterSize(byte);
      }
      case SIZE_SPACE:
        this.#count += 1;
        return byte !== CR && this.#count <= MAX_EXTENSION && this.#afterSize(byte);
      case EXTENSION:
        this.#count += 1;
        if (byte === CR) this.#state = SIZE_LF;
        this.#extended += 1;
        if (this.#count > MAX_EXTENSION || this.#extended > MAX_EXTENDED) return false;
        return byte === CR || isText(byte);
      case SIZE_LF:
        this.#state = this.#size === 0 ? TRAILER_START : DATA;
        this.#digits = 0;
        return byte === LF;
      case DATA_CR:
        this.#state = DATA_LF;
        return byte === CR;
      case DATA_LF:
        this.#state = SIZE;
        return byte === LF;
      case TRAILER_START:
        this.#state = byte === CR ? LAST_LF : TRAILER_LINE;
        this.#trailer += 1;
        return byte === CR || (isText(byte) && byte !== 0x20 && byte !== 0x09);
      case TRAILER_LINE:
        this.#trailer += 1;
        if (byte === CR) this.#state = TRAILER_LF;
        return byte === CR || (isText(byte) && this.#trailer <= MAX_TRAILER);
      case TRAILER_LF:
        this.#state = TRAILER_START;
        return byte === LF;
      default:
        this.#state = DONE;
        return byte === LF;
    }
  }

  #afterSize(byte: number): boolean {
    if (byte === CR) this.#state = SIZE_LF;
    else if (byte === 0x3b) this.#state = EXTENSION;
    else this.#state = SIZE_SPACE;
    return byte === CR || byte === 0x3b || byte === 0x20 || byte === 0x09;
  }
}

/** Joins small parts of one portion of bytes. */
class SmallParts {
  readonly #data: (part: Buffer) => void;
  #joined: Buffer | undefined;
  #length = 0;

  constructor(data: (part: Buffer) => void) {
    this.#data = data;
  }

  add(bytes: Buffer, from: number, to: number): void {
    this.#joined ??= Buffer.allocUnsafe(bytes.length - from);
    // A call of `copy` costs as much as thirty bytes in a loop.
    if (to - from > 32) this.#length += bytes.copy(this.#joined, this.#length, from, to);
    else for (let at = from; at < to; at += 1) this.#joined[this.#length++] = bytes[at] as number;
  }

  send(): void {
    if (this.#joined === undefined) return;
    this.#data(this.#joined.subarray(0, this.#length));
    this.#joined = undefined;
    this.#length = 0;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function isText(byte: number): boolean {
  return byte === 0x09 || (byte >= 0x20 && byte !== 0x7f);
}
