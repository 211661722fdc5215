import { type CommandSpec, UsageError } from '../command.ts';
import { readDuration } from '../duration.ts';
import { holdSandbox } from '../hold-sandbox.ts';
import { write } from '../write.ts';

export const execCommand: CommandSpec = {
  name: 'exec',
  usage: '<sandbox> -- command…',
  summary: 'run a command in a sandbox',
  details:
    'What it prints is printed here as it comes, and its exit code is yours. Ctrl-C ends it. No shell reads the command: for pipes, run one.',
  options: {
    cwd: { type: 'string', value: 'PATH', help: 'where it runs; default /workspace' },
    timeout: { type: 'string', value: 'TIME', help: 'kill it after so long' },
    session: {
      type: 'string',
      value: 'ID',
      help: 'with the working directory and environment of that session',
    },
    json: { type: 'boolean', help: 'print {"exit_code", "stdout", "stderr"} at the end' },
  },
  examples: [
    ['porthole exec try -- npm test', 'a command'],
    ["porthole exec try -- sh -c 'du -a | sort -n | tail'", 'a pipe'],
  ],
  positionals: [1, 1],
  takesRest: true,
  async run(context) {
    const { given, streams, signal, print } = context;
    const argv = given.rest ?? [];
    if (argv.length === 0)
      throw new UsageError('the command is missing: put it after --, as in porthole exec try -- ls.');
    const timeout = given.text('timeout');
    const sandbox = await holdSandbox(context);
    try {
      const command = sandbox.exec(argv, {
        cwd: given.text('cwd'),
        timeoutMs: timeout === undefined ? undefined : readDuration('timeout', timeout) * 1_000,
        session: given.text('session'),
        signal,
      });
      if (given.is('json')) {
        const { exitCode, stdout, stderr, truncated } = await command.collect();
        await print(JSON.stringify({ exit_code: exitCode, stdout, stderr, truncated }));
        return exitCode;
      }
      for await (const event of command) {
        if (event.type === 'exit') return event.exitCode;
        await write(streams[event.type], event.data);
      }
      return 1;
    } finally {
      await sandbox.close();
    }
  },
};
