import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/**
 * Progress for a person, on a terminal (in colour, with a changing line) and in a pipe (plain
 * lines).
 */
export interface Steps {
  /**
   * One step: prints what is being done, then what was done and its duration.
   * @param done the final message, from the result of `work`
   */
  run<T>(doing: string, work: () => Promise<T>, done: (result: T) => string): Promise<T>;
  say(text?: string, style?: Style): void;
}

export function createSteps(out: NodeJS.WriteStream): Steps {
  const paint = (style: Style, text: string) => styleText(style, text, { stream: out });
  return {
    async run(doing, work, done) {
      const began = performance.now();
      if (out.isTTY) out.write(`  ${paint('dim', `· ${doing} …`)}`);
      const finish = (mark: string, text: string) => {
        const took = `${((performance.now() - began) / 1_000).toFixed(2)} s`;
        out.write(`${out.isTTY ? '\r\u001b[2K' : ''}  ${mark} ${paint('dim', took.padStart(7))}  ${text}\n`);
      };
      try {
        const result = await work();
        finish(paint('green', '✓'), done(result));
        return result;
      } catch (error) {
        finish(paint('red', '✗'), doing);
        throw error;
      }
    },
    say(text = '', style) {
      out.write(`${text === '' ? '' : '  '}${style === undefined ? text : paint(style, text)}\n`);
    },
  };
}
