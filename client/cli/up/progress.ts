import { stripVTControlCharacters } from 'node:util';
import type { Context } from '../command.ts';
import { plain, write } from '../print.ts';

/** A step that takes longer than this, in milliseconds, reports that it still runs. */
const SLOW_MS = 1_000;
/** From here on, in milliseconds, also how long it has taken, and what it said last. */
const LONG_MS = 5_000;
/** Milliseconds between two reports: in place on a terminal, and else lines or events. */
const BETWEEN_MS = { terminal: 1_000, lines: 15_000, json: 5_000 };

/** Takes the last line that a step's program has printed. */
export type Report = (line: string) => void;

type Out = Pick<Context, 'print' | 'note' | 'signal'> & {
  readonly streams: Pick<Context['streams'], 'stderr'>;
};

/** The output of `up`: lines for people on stderr, or with `--json` one object a line on stdout. */
export class Progress {
  readonly #context: Out;
  readonly isJson: boolean;
  /** Whether the terminal's last line is a report, which the next line replaces. */
  #isReporting = false;

  constructor(context: Out, isJson: boolean) {
    this.#context = context;
    this.isJson = isJson;
  }

  /** @param says what is done, e.g. `Sending files` @param done what was done, of its result */
  async step<T>(
    says: string,
    work: (report: Report) => Promise<T>,
    done: (result: T) => string | undefined,
  ): Promise<T> {
    const began = performance.now();
    const secondsNow = () => Math.round(performance.now() - began) / 1_000;
    let line = '';
    const slow = setTimeout(() => void (this.isJson || this.#note(`${says}…`)), SLOW_MS);
    let long = setTimeout(() => {
      void this.#report(says, secondsNow(), line);
      long = setInterval(() => void this.#report(says, secondsNow(), line), this.#betweenMs());
    }, LONG_MS);
    try {
      const result = await work((last) => (line = last));
      const words = done(result);
      if (this.isJson) await this.event('step', { step: says, result: words ?? null, seconds: secondsNow() });
      else if (words !== undefined) await this.say(`${words} (${secondsNow().toFixed(1)} s)`);
      return result;
    } catch (error) {
      if (!this.#context.signal.aborted) await this.#failed(says, secondsNow());
      throw error;
    } finally {
      clearTimeout(slow);
      clearTimeout(long);
      await this.#clear();
    }
  }

  async say(words: string): Promise<void> {
    if (this.isJson) await this.event('message', { message: words });
    else await this.#note(plain(words));
  }

  async event(event: string, fields: object): Promise<void> {
    if (this.isJson) await this.#context.print(JSON.stringify({ event, ...fields }));
  }

  async #failed(says: string, seconds: number): Promise<void> {
    if (this.isJson) await this.event('failed', { step: says, seconds });
    else await this.#note(`Failed after ${seconds.toFixed(1)} s: ${plain(says)}`);
  }

  #betweenMs(): number {
    if (this.isJson) return BETWEEN_MS.json;
    return this.#context.streams.stderr.isTTY ? BETWEEN_MS.terminal : BETWEEN_MS.lines;
  }

  async #report(says: string, seconds: number, line: string): Promise<void> {
    if (this.isJson) return this.event('progress', { step: says, seconds, line: line === '' ? null : line });
    const words = plain(`${says}… ${seconds.toFixed(0)} s${line === '' ? '' : `: ${line}`}`);
    const { stderr } = this.#context.streams;
    if (!stderr.isTTY) return this.#context.note(words);
    this.#isReporting = true;
    // A line that wraps could not be replaced.
    await write(stderr, `\r\u001B[2K${words.slice(0, Math.max(20, stderr.columns - 1))}`);
  }

  async #note(words: string): Promise<void> {
    await this.#clear();
    await this.#context.note(words);
  }

  async #clear(): Promise<void> {
    if (!this.#isReporting) return;
    this.#isReporting = false;
    await write(this.#context.streams.stderr, '\r\u001B[2K');
  }
}

/** The last line of an output that is not empty, in chunks as they come. */
export function lastLineOf(report: Report): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  let open = '';
  return (chunk) => {
    const lines = `${open}${decoder.decode(chunk, { stream: true })}`.split(/[\r\n]+/);
    open = (lines.at(-1) ?? '').slice(-MAX_LINE_CHARS);
    const last = lines.map(stripVTControlCharacters).findLast((line) => line.trim() !== '');
    if (last !== undefined) report(last.trim().slice(0, MAX_LINE_CHARS));
  };
}

const MAX_LINE_CHARS = 200;
