/**
 * What host and init say to each other over one connection: frames of `type (1 byte) · length (4, big endian) · payload`.
 * The first frame from the host is a request; each operation has a connection of its own.
 */
export const FRAME = {
  /** host → init: JSON `InitRequest`. */
  request: 1,
  /** init → host: the operation stands; no payload. */
  ok: 2,
  /** init → host: JSON `{"code": "…", "message": "…"}`. */
  failed: 3,
  /** host → init: what is typed on a terminal, at most `STDIN_WINDOW` bytes of it unacknowledged. */
  stdin: 4,
  /** host → init: no more bytes; no payload. */
  stdinEnd: 5,
  /** init → host: so many bytes of stdin are consumed (4, big endian). */
  stdinAck: 6,
  stdout: 7,
  stderr: 8,
  /** host → init: a signal's name. */
  signal: 9,
  /** host → init: columns and rows (2 + 2, big endian). */
  resize: 10,
  /** init → host: JSON `{"code": 0}` or `{"signal": "SIGKILL"}`; the last frame. */
  exit: 11,
} as const;

export type InitRequest =
  | { readonly op: 'ping' }
  | { readonly op: 'dial'; readonly port: number }
  /** Keeps this connection until a command is started that names the ticket: it becomes that command's stdin. Nothing is sent on it before. */
  | { readonly op: 'input'; readonly ticket: string }
  | {
      readonly op: 'exec';
      readonly argv: readonly [string, ...string[]];
      readonly cwd: string;
      readonly env: Readonly<Record<string, string>>;
      readonly stdin: boolean;
      /** The ticket of the connection that becomes its stdin. */
      readonly input?: string;
      /** Named pipes for its stdout and stderr, which the host reads; without them both come as frames. */
      readonly outputs?: readonly [string, string];
      readonly tty: { readonly cols: number; readonly rows: number } | null;
    };

/** Bytes of stdin that may be on their way: enough to keep a pipe full, little enough to hold in memory. */
export const STDIN_WINDOW = 256 * 1024;

/** The largest request: Linux takes 2 MiB of arguments and environment, and JSON may double them. */
export const MAX_REQUEST = 4 * 1024 * 1024;

const MAX_CONTROL = 4096;
const MAX_DATA = 1024 * 1024;
const HEAD = 5;

export function frame(type: number, payload: string | Buffer = ''): Buffer {
  const length = Buffer.byteLength(payload);
  const out = Buffer.allocUnsafe(HEAD + length);
  out.writeUInt8(type, 0);
  out.writeUInt32BE(length, 1);
  if (typeof payload === 'string') out.write(payload, HEAD);
  else payload.copy(out, HEAD);
  return out;
}

/** The head alone, for a payload that is written right behind it without a copy. */
export function frameHead(type: number, length: number): Buffer {
  const out = Buffer.allocUnsafe(HEAD);
  out.writeUInt8(type, 0);
  out.writeUInt32BE(length, 1);
  return out;
}

const isData = (type: number): boolean =>
  type === FRAME.stdin || type === FRAME.stdout || type === FRAME.stderr;

function limitOf(type: number): number {
  if (isData(type)) return MAX_DATA;
  return type === FRAME.request ? MAX_REQUEST : MAX_CONTROL;
}

/**
 * Takes frames out of chunks. Payloads of data come in the pieces they arrived in, without a copy; all others come whole,
 * and are bounded.
 * @throws Error on an unknown type or a length over its limit
 */
export class FrameReader {
  #head = Buffer.alloc(HEAD);
  #headFilled = 0;
  #left = 0;
  #parts: Buffer[] = [];
  /** How many bytes of the chunk at hand are read: a reader may stop at a frame and take the rest as it is. */
  consumed = 0;

  *read(chunk: Buffer): Generator<{ type: number; payload: Buffer }> {
    let at = 0;
    this.consumed = 0;
    while (at < chunk.length) {
      if (this.#headFilled < HEAD) {
        const take = Math.min(HEAD - this.#headFilled, chunk.length - at);
        chunk.copy(this.#head, this.#headFilled, at, at + take);
        this.#headFilled += take;
        at += take;
        this.consumed = at;
        if (this.#headFilled < HEAD) return;
        this.#begin();
        if (this.#left > 0) continue;
        yield this.#end();
        continue;
      }
      const piece = chunk.subarray(at, at + this.#left);
      at += piece.length;
      this.consumed = at;
      this.#left -= piece.length;
      const type = this.#head.readUInt8(0);
      if (isData(type)) {
        if (this.#left === 0) this.#headFilled = 0;
        yield { type, payload: piece };
      } else {
        this.#parts.push(Buffer.from(piece));
        if (this.#left === 0) yield this.#end();
      }
    }
  }

  #begin(): void {
    const type = this.#head.readUInt8(0);
    this.#left = this.#head.readUInt32BE(1);
    if (type < FRAME.request || type > FRAME.exit || this.#left > limitOf(type)) {
      throw new Error(`frame of type ${type} with ${this.#left} bytes`);
    }
  }

  #end(): { type: number; payload: Buffer } {
    const payload = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#headFilled = 0;
    return { type: this.#head.readUInt8(0), payload };
  }
}
