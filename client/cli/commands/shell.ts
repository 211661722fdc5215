import { TextPieces } from '../../streams/decode-text.ts';
import { type CommandSpec, OWN_FAILURE, UsageError } from '../command.ts';
import { holdSandbox } from '../hold-sandbox.ts';
import { write } from '../print.ts';

/** The byte of Ctrl-D: end of input. */
const END_OF_INPUT = '\u0004';
/** A program that sets up its terminal discards an earlier end of input, and each takes one. */
const END_AGAIN_MS = 500;

export const shellCommand: CommandSpec = {
  name: 'shell',
  usage: '<sandbox>',
  summary: 'open a terminal in a sandbox',
  details:
    'Exits with the exit code of its shell, or 255 if Porthole itself fails. With --session it survives a lost connection: run the command again to return to it and its output.',
  options: {
    session: { type: 'string', value: 'ID', help: 'the terminal of that session' },
    shell: { type: 'string', value: 'PROGRAM', help: 'default bash' },
  },
  json: 'print one object per line: {"text"}, and {"exit_code"} at the end',
  examples: [
    ['porthole shell try', 'a terminal'],
    ['porthole shell try --session work', 'one to return to'],
  ],
  failureCode: OWN_FAILURE,
  async run(context) {
    const { given, streams, signal, print } = context;
    const { stdin, stdout } = streams;
    const isJson = given.is('json');
    const sandbox = await holdSandbox(context);
    const size = stdout.isTTY ? { cols: stdout.columns, rows: stdout.rows } : {};
    const withoutInput = new AbortController();
    await using terminal = sandbox.terminal({
      ...size,
      session: given.text('session'),
      shell: given.text('shell'),
      signal: AbortSignal.any([signal, withoutInput.signal]),
    });
    await terminal.ready;
    let isTyped = false;
    let ending: ReturnType<typeof setInterval> | undefined;
    const type = (input: Buffer): void => {
      isTyped ||= input.length > 0;
      terminal.write(input);
    };
    const end = (): void => {
      if (!isTyped) {
        const message = 'the standard input is empty. For a command use porthole exec <sandbox> -- command…';
        return withoutInput.abort(new UsageError(message));
      }
      terminal.write(END_OF_INPUT);
      ending = setInterval(() => terminal.write(END_OF_INPUT), END_AGAIN_MS);
    };
    const resize = (): void => terminal.resize(stdout.columns, stdout.rows);
    if (stdin.isTTY) stdin.setRawMode(true);
    stdin.on('data', type).once('end', end);
    stdout.on('resize', resize);
    try {
      const pieces = new TextPieces();
      for await (const shown of terminal) {
        if (isJson) await print(JSON.stringify({ text: pieces.push(shown) }));
        else await write(stdout, shown);
      }
      const { code } = await terminal.exit;
      if (isJson) await print(JSON.stringify({ exit_code: code }));
      return code;
    } finally {
      clearInterval(ending);
      stdin.off('data', type).off('end', end).pause();
      stdout.off('resize', resize);
      if (stdin.isTTY) stdin.setRawMode(false);
      await sandbox.close();
    }
  },
};
