export interface JsonLimits {
  /** Nested arrays and objects. */
  readonly depth: number;
  /** Members of objects and items of arrays, all together. */
  readonly values: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/**
 * Counts what a text of JSON holds, before it is parsed: time and memory of a parser depend on the
 * number of values, not on bytes. Takes the text in pieces.
 */
export class JsonScan {
  readonly #limits: JsonLimits;
  #values = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** @throws Error above a limit */
  add(text: string): void {
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (code === BACKSLASH) this.#isEscaped = true;
        else if (code === QUOTE) this.#isInString = false;
      } else if (code === QUOTE) this.#isInString = true;
      else if (code === COMMA) this.#count();
      else if (OPENING.has(code)) {
        this.#count();
        this.#depth += 1;
        if (this.#depth > this.#limits.depth) throw new Error(`JSON of over ${this.#limits.depth} levels`);
      } else if (CLOSING.has(code)) this.#depth -= 1;
    }
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > this.#limits.values) throw new Error(`JSON of over ${this.#limits.values} values`);
  }
}

/** @throws Error for a text that is no JSON, or above a limit */
export function boundedJson(text: string, limits: JsonLimits): unknown {
  // Each level and each value takes a character.
  if (text.length > Math.min(limits.depth, limits.values)) new JsonScan(limits).add(text);
  return JSON.parse(text);
}
