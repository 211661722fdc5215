import { type CommandSpec, type Context, OWN_FAILURE, UsageError } from '../command.ts';
import type { Process } from '../../resources/processes.ts';
import { TextPieces } from '../../streams/decode-text.ts';
import { exitCodeOfSignal } from '../exit-code-of-signal.ts';
import { readDuration } from '../read-values.ts';
import { holdSandbox } from '../hold-sandbox.ts';
import { write } from '../print.ts';

export const execCommand: CommandSpec = {
  name: 'exec',
  usage: '<sandbox> -- command…',
  summary: 'run a command in a sandbox',
  details:
    'Streams its output and exits with its exit code. Ctrl-C ends it. No shell reads the command: for pipes, run one.\nExit code 255: Porthole itself failed, for example because the connection was lost or there is no such sandbox.',
  options: {
    cwd: { type: 'string', value: 'PATH', help: 'where it runs; default /workspace' },
    timeout: { type: 'string', value: 'TIME', help: 'kill it after this time' },
    session: {
      type: 'string',
      value: 'ID',
      help: 'with the working directory and environment of that session',
    },
    interactive: { type: 'boolean', short: 'i', help: 'connect stdin to the command' },
  },
  json: 'print {"exit_code", "stdout", "stderr"} at the end',
  examples: [
    ['porthole exec try -- npm test', 'a command'],
    ['porthole exec try -i -- tar -x < files.tar', 'with input'],
    ["porthole exec try -- sh -c 'du -a | sort -n | tail'", 'a pipe'],
  ],
  takesRest: true,
  failureCode: OWN_FAILURE,
  async run(context) {
    const { given, streams, signal, print } = context;
    const argv = given.rest ?? [];
    if (argv.length === 0)
      throw new UsageError('the command is missing: put it after --, as in porthole exec try -- ls.');
    if (given.is('interactive') && given.text('session') !== undefined)
      throw new UsageError('-i does not go with --session: leave one of them out.');
    const timeout = given.text('timeout');
    const sandbox = await holdSandbox(context);
    try {
      const options = {
        cwd: given.text('cwd'),
        timeoutMs: timeout === undefined ? undefined : readDuration('timeout', timeout) * 1_000,
        session: given.text('session'),
        signal,
      };
      if (given.is('interactive')) {
        const process = await sandbox.processes.start(argv as [string, ...string[]], {
          ...options,
          stdin: true,
        });
        return await withInput(context, process);
      }
      const command = sandbox.exec(argv, options);
      if (given.is('json')) {
        const { exitCode, stdout, stderr, truncated } = await command.collect();
        await print(JSON.stringify({ exit_code: exitCode, stdout, stderr, truncated }));
        return exitCode;
      }
      for await (const event of command) {
        if (event.type === 'exit') return event.exitCode;
        await write(streams[event.type], event.data);
      }
      return OWN_FAILURE;
    } finally {
      await sandbox.close();
    }
  },
};

/** Streams stdin to the command as it arrives. The command ends when this process does. */
async function withInput(
  { given, streams, signal, print, note }: Context,
  process: Process,
): Promise<number> {
  const typing = (async () => {
    for await (const chunk of streams.stdin) await process.input(chunk as Buffer, { signal });
    await process.input('', { eof: true, signal });
  })();
  const isJson = given.is('json');
  const pieces = { stdout: new TextPieces(), stderr: new TextPieces() };
  const said = { stdout: '', stderr: '' };
  let truncated = false;
  // A command may end before its input does.
  typing.catch(() => undefined);
  try {
    for await (const event of process.output({ signal })) {
      if (event.type === 'exit') {
        const { code: own, signal: by, reason } = event.exit;
        const code = own ?? (by === null ? OWN_FAILURE : exitCodeOfSignal(by));
        if (reason === 'out_of_memory')
          await note('porthole: the sandbox is out of memory, which ended the command.');
        for (const stream of ['stdout', 'stderr'] as const) said[stream] += pieces[stream].end();
        if (isJson) await print(JSON.stringify({ exit_code: code, ...said, truncated }));
        return code;
      }
      if (event.type === 'cut') {
        truncated = true;
        for (const each of Object.values(pieces)) each.skip();
      } else if (isJson) said[event.type] += pieces[event.type].push(event.data);
      else await write(streams[event.type], event.data);
    }
    return OWN_FAILURE;
  } finally {
    await process.remove();
  }
}
