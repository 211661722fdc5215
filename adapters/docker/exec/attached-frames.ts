/** A piece of what a program without a terminal says, as an engine multiplexes it. */
export interface AttachedPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Buffer;
}

/** A byte for the stream, three zeros, and the length of what follows in four. */
const HEADER = 8;

/**
 * Divides an engine's stream into the program's two. A frame's payload is passed on as it comes, however long it says it is: no more than a header is ever kept.
 */
export class AttachedReader {
  #header: Buffer = Buffer.alloc(0);
  #stream: AttachedPiece['stream'] = 'stdout';
  #left = 0;

  /** @throws Error for what no engine sends */
  take(piece: Buffer): AttachedPiece[] {
    const pieces: AttachedPiece[] = [];
    let rest = piece;
    while (rest.length > 0) {
      if (this.#left > 0) {
        const bytes = rest.subarray(0, this.#left);
        pieces.push({ stream: this.#stream, bytes });
        this.#left -= bytes.length;
        rest = rest.subarray(bytes.length);
        continue;
      }
      const missing = HEADER - this.#header.length;
      this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      if (this.#header.length === HEADER) this.#begin();
    }
    return pieces;
  }

  #begin(): void {
    const [kind] = this.#header;
    if ((kind !== 1 && kind !== 2) || this.#header.readUIntBE(1, 3) !== 0) {
      throw new Error(`a frame that begins with ${this.#header.toString('hex')}`);
    }
    this.#stream = kind === 1 ? 'stdout' : 'stderr';
    this.#left = this.#header.readUInt32BE(4);
    this.#header = Buffer.alloc(0);
  }
}
