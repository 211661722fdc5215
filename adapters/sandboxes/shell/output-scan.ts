/** The first line of a script's stdout: its mark and its process id. */
export interface Hello {
  readonly pid: number;
  /** What came after the line. */
  readonly rest: Buffer;
}

/**
 * Finds the first line that begins with the mark. `bytes` is all that has come so far; undefined while more must come. The shell tells it before it does anything
 * else, so more than 64 KiB without it come from something that is not the script.
 */
export function findHello(bytes: Buffer, mark: string): Hello | undefined {
  const at = bytes.indexOf(mark);
  const end = at < 0 ? -1 : bytes.indexOf('\n', at);
  if (end < 0) {
    if (bytes.length > 65_536) throw new Error('64 KiB have come, and no process id');
    return undefined;
  }
  const told = bytes.toString('latin1', at + mark.length, end);
  const pid = /^ (\d{1,10})\r?$/.exec(told)?.[1];
  // 1 would stand for every process there is.
  if (pid === undefined || Number(pid) < 2) throw new Error('a process id that is none');
  return { pid: Number(pid), rest: bytes.subarray(end + 1) };
}

/** Finds the line that is the mark alone, behind which a terminal's output begins; all before it is dropped. Takes pieces one by one. */
export class StartScan {
  readonly #mark: string;
  #held: Buffer = Buffer.alloc(0);

  constructor(mark: string) {
    this.#mark = mark;
  }

  /** What came behind the mark; undefined while it has not come. */
  take(piece: Buffer): Buffer | undefined {
    const bytes = Buffer.concat([this.#held, piece]);
    const at = bytes.indexOf(this.#mark);
    const end = at < 0 ? -1 : bytes.indexOf('\n', at);
    if (end >= 0) return bytes.subarray(end + 1);
    if (at >= 0 && bytes.length - at > this.#mark.length + 2) throw new Error('a start that is none');
    this.#held = at >= 0 ? bytes.subarray(at) : Buffer.from(bytes.subarray(-this.#mark.length));
    return undefined;
  }
}

/** A piece of output, and the exit code once its end has come. */
export interface Passed {
  readonly output: Buffer[];
  readonly code?: number;
}

/** The mark, a space, an exit code and a newline. */
const LONGEST_CODE = 4;

/**
 * Divides a stream at its end: the mark, a space, the exit code, a newline. Passes on what comes before it as it is, however it is cut into pieces; holds back no
 * more than the length of such an end. What comes after it belongs to nobody.
 */
export class EndScan {
  readonly #mark: Buffer;
  #held: Buffer = Buffer.alloc(0);

  constructor(mark: string) {
    this.#mark = Buffer.from(`${mark} `);
  }

  take(piece: Buffer): Passed {
    const bytes = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    let from = 0;
    for (;;) {
      const at = bytes.indexOf(this.#mark, from);
      if (at < 0) return this.#hold(bytes, bytes.length - this.#startedAtEnd(bytes));
      const code = bytes
        .subarray(at + this.#mark.length, at + this.#mark.length + LONGEST_CODE)
        .toString('latin1');
      const ended = /^(\d{1,3})\n/.exec(code)?.[1];
      if (ended !== undefined) {
        this.#held = Buffer.alloc(0);
        return { output: at > 0 ? [bytes.subarray(0, at)] : [], code: Number(ended) };
      }
      if (/^\d{0,3}$/.test(code)) return this.#hold(bytes, at);
      from = at + 1;
    }
  }

  /** What is held back when nothing more comes. */
  rest(): Buffer {
    return this.#held;
  }

  #hold(bytes: Buffer, at: number): Passed {
    // A copy: a few bytes must not keep the whole message they came in.
    this.#held = Buffer.from(bytes.subarray(at));
    return { output: at > 0 ? [bytes.subarray(0, at)] : [] };
  }

  /** How many of the last bytes may be the beginning of the mark. */
  #startedAtEnd(bytes: Buffer): number {
    for (let length = Math.min(this.#mark.length - 1, bytes.length); length > 0; length -= 1) {
      if (bytes.subarray(bytes.length - length).equals(this.#mark.subarray(0, length))) return length;
    }
    return 0;
  }
}
