const utf8Decoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * UTF-8 text, with its byte order mark: a tool that writes it back must not lose it.
 * @param isCut whether the bytes end at a limit: then half a character at the end is left out
 */
export function decodeText(bytes: Uint8Array, isCut = false): string {
  return utf8Decoder().decode(bytes, { stream: isCut });
}

/** Decodes one stream of output piece by piece: characters may be divided between pieces. */
export class TextPieces {
  #decoder = utf8Decoder();
  #isAfterGap = false;

  push(bytes: Uint8Array): string {
    const start = this.#isAfterGap ? firstCharacter(bytes) : 0;
    if (start < bytes.length) this.#isAfterGap = false;
    return this.#decoder.decode(bytes.subarray(start), { stream: true });
  }

  /** Bytes are missing here: what is left of the characters beside them is left out. */
  skip(): void {
    this.#decoder = utf8Decoder();
    this.#isAfterGap = true;
  }

  /** The stream is complete: half a character at its end counts as invalid. */
  end(): string {
    return this.#decoder.decode();
  }
}

/** The first byte that continues no character. */
function firstCharacter(bytes: Uint8Array): number {
  const start = bytes.findIndex((byte) => (byte & 0b1100_0000) !== 0b1000_0000);
  return start === -1 ? bytes.length : start;
}
