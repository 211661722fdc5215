/** The most that a frame to a relay carries, in bytes. */
export const LONGEST_FRAME = 64 * 1024;

const HEAD = 4;

const END = 0;
const BROKEN = 0xffff_ffff;

export function relayFrame(length: number): Buffer {
  const head = Buffer.allocUnsafe(HEAD);
  head.writeUInt32BE(length);
  return head;
}

export type Relayed =
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  /** The server has ended its direction. */
  | { readonly kind: 'end' }
  /** The connection is no more. */
  | { readonly kind: 'broken' };

/** Reads what a relay frames. It is the sandbox's own and may say anything: a payload is passed on as it comes, and no more than a head is ever kept. */
export class RelayReader {
  #head: Buffer = Buffer.alloc(0);
  #left = 0;

  /** @throws Error for what no relay sends */
  take(piece: Buffer): Relayed[] {
    const read: Relayed[] = [];
    let rest = piece;
    while (rest.length > 0) {
      if (this.#left > 0) {
        const bytes = rest.subarray(0, this.#left);
        read.push({ kind: 'bytes', bytes });
        this.#left -= bytes.length;
        rest = rest.subarray(bytes.length);
        continue;
      }
      const missing = HEAD - this.#head.length;
      this.#head = Buffer.concat([this.#head, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      if (this.#head.length < HEAD) break;
      const length = this.#head.readUInt32BE();
      this.#head = Buffer.alloc(0);
      if (length === END) read.push({ kind: 'end' });
      else if (length === BROKEN) read.push({ kind: 'broken' });
      else if (length <= LONGEST_FRAME) this.#left = length;
      else throw new Error(`a frame of ${length} bytes`);
    }
    return read;
  }
}
