import type { Context } from '../command.ts';
import { plain } from '../print.ts';

/** A step that takes longer than this, in milliseconds, reports that it still runs. */
const SLOW_MS = 1_000;

/** The output of `up`: lines for people on stderr, or with `--json` one object a line on stdout. */
export class Progress {
  readonly #context: Pick<Context, 'print' | 'note'>;
  readonly isJson: boolean;

  constructor(context: Pick<Context, 'print' | 'note'>, isJson: boolean) {
    this.#context = context;
    this.isJson = isJson;
  }

  /** @param says what is done, e.g. `Sending files` @param done what was done, of its result */
  async step<T>(says: string, work: () => Promise<T>, done: (result: T) => string | undefined): Promise<T> {
    const began = performance.now();
    const slow = setTimeout(() => void (this.isJson || this.#context.note(`${says}…`)), SLOW_MS);
    try {
      const result = await work();
      const seconds = Math.round(performance.now() - began) / 1_000;
      const words = done(result);
      if (this.isJson) await this.event('step', { step: says, result: words ?? null, seconds });
      else if (words !== undefined) await this.say(`${words} (${seconds.toFixed(1)} s)`);
      return result;
    } finally {
      clearTimeout(slow);
    }
  }

  async say(words: string): Promise<void> {
    if (this.isJson) await this.event('message', { message: words });
    else await this.#context.note(plain(words));
  }

  async event(event: string, fields: object): Promise<void> {
    if (this.isJson) await this.#context.print(JSON.stringify({ event, ...fields }));
  }
}
