import type { TerminalSize } from '../../rules/terminal-messages.ts';

/** New sizes within a second that take effect at once. A window that is being dragged makes some dozens. */
const AT_ONCE = 100;
const WINDOW_MS = 1_000;

/** Passes on new sizes; of a flood of them only the last of each second, so that none piles up on the way to the sandbox. */
export class Resizer {
  readonly #apply: (size: TerminalSize) => void;
  #count = 0;
  /** Runs for a second after a size that came when it did not. */
  #window: NodeJS.Timeout | undefined;
  #last: TerminalSize | undefined;

  constructor(apply: (size: TerminalSize) => void) {
    this.#apply = apply;
  }

  resize(size: TerminalSize): void {
    this.#window ??= setTimeout(() => this.#next(), WINDOW_MS);
    this.#count += 1;
    if (this.#count <= AT_ONCE) this.#apply(size);
    else this.#last = size;
  }

  end(): void {
    clearTimeout(this.#window);
    this.#window = undefined;
    this.#last = undefined;
  }

  #next(): void {
    const last = this.#last;
    this.end();
    this.#count = 0;
    if (last !== undefined) this.resize(last);
  }
}
