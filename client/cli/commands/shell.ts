import { TextPieces } from '../../streams/decode-text.ts';
import { type CommandSpec, OWN_FAILURE } from '../command.ts';
import { holdSandbox } from '../hold-sandbox.ts';
import { write } from '../print.ts';

/** The byte of Ctrl-D: end of input. */
const END_OF_INPUT = '\u0004';

export const shellCommand: CommandSpec = {
  name: 'shell',
  usage: '<sandbox>',
  summary: 'open a terminal in a sandbox',
  details:
    'Exits with the exit code of its shell, or 255 where Porthole itself fails. With --session it stays when you are cut off, and you come back to it, and to what it showed.',
  options: {
    session: { type: 'string', value: 'ID', help: 'the terminal of that session' },
    shell: { type: 'string', value: 'PROGRAM', help: 'default bash' },
  },
  json: 'print an object a line: {"text"}, and {"exit_code"} at the end',
  examples: [
    ['porthole shell try', 'a terminal'],
    ['porthole shell try --session work', 'one to come back to'],
  ],
  failureCode: OWN_FAILURE,
  async run(context) {
    const { given, streams, signal, print } = context;
    const { stdin, stdout } = streams;
    const isJson = given.is('json');
    const sandbox = await holdSandbox(context);
    const size = stdout.isTTY ? { cols: stdout.columns, rows: stdout.rows } : {};
    await using terminal = sandbox.terminal({
      ...size,
      session: given.text('session'),
      shell: given.text('shell'),
      signal,
    });
    await terminal.ready;
    const type = (input: Buffer): void => terminal.write(input);
    const end = (): void => terminal.write(END_OF_INPUT);
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
      stdin.off('data', type).off('end', end).pause();
      stdout.off('resize', resize);
      if (stdin.isTTY) stdin.setRawMode(false);
      await sandbox.close();
    }
  },
};
