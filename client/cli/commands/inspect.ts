import type { Sandbox } from '../../sandboxes/sandbox.ts';
import { type CommandSpec, UsageError } from '../command.ts';
import { holdSandbox } from '../hold-sandbox.ts';
import { plain, table, write } from '../print.ts';
import { ago } from './list.ts';

/** Commands that show what runs in a sandbox. */

export const psCommand: CommandSpec = {
  name: 'ps',
  usage: '<sandbox|run>',
  summary: 'list the servers and processes of a sandbox',
  examples: [['porthole ps try', 'what runs, and what ended last']],
  async run(context) {
    const { given, signal, print, note } = context;
    const sandbox = await holdSandbox(context);
    const [servers, processes] = await Promise.all([
      sandbox.servers.list({ signal }),
      sandbox.processes.list({ signal }),
    ]);
    if (given.is('json')) {
      await print(JSON.stringify({ servers, processes: processes.map(({ info }) => info) }));
      return 0;
    }
    const now = new Date();
    // Those of servers are the lines before.
    const own = processes.filter(({ info }) => info.started_by.kind !== 'server');
    const rows = [
      ...servers.map((each) => [
        each.name,
        each.state,
        String(each.port ?? '-'),
        each.started_at === null ? '-' : ago(each.started_at, now),
        each.argv.join(' '),
      ]),
      ...own.map(({ id, info }) => [
        id,
        info.exit === null ? info.state : `${info.exit.reason} ${info.exit.code ?? info.exit.signal ?? ''}`,
        '-',
        ago(info.started_at, now),
        info.argv.join(' '),
      ]),
    ];
    if (rows.length === 0) await note('Nothing runs.');
    else await print(table([['NAME', 'STATE', 'PORT', 'AGE', 'COMMAND'], ...rows]).join('\n'));
    return 0;
  },
};

export const logsCommand: CommandSpec = {
  name: 'logs',
  usage: '<sandbox|run> [server]',
  summary: 'print what a server printed; without a name, the only server',
  options: {
    follow: { type: 'boolean', short: 'f', help: 'go on with what comes, until Ctrl-C' },
    tail: { type: 'string', value: 'LINES', help: 'begin so many lines before the end' },
  },
  json: 'print an object a line: {"stream", "text"}',
  examples: [['porthole logs try web -f', 'of the server web']],
  async run(context) {
    const { given, streams, signal, print } = context;
    const tail = given.text('tail');
    if (tail !== undefined && !/^\d{1,6}$/.test(tail))
      throw new UsageError(`--tail must be a number of lines, got ${JSON.stringify(tail)}.`);
    const sandbox = await holdSandbox(context);
    const name = given.positionals[1] ?? (await onlyServer(sandbox, signal));
    const options = {
      follow: given.is('follow'),
      signal,
      tail: tail === undefined ? undefined : Number(tail),
    };
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    for await (const event of sandbox.servers.logs(name, options)) {
      if (event.type !== 'stdout' && event.type !== 'stderr') continue;
      if (given.is('json')) {
        const text = decoders[event.type].decode(event.data, { stream: true });
        await print(JSON.stringify({ stream: event.type, text }));
      } else await write(streams[event.type], event.data);
    }
    return 0;
  },
};

async function onlyServer(sandbox: Sandbox, signal: AbortSignal): Promise<string> {
  const names = (await sandbox.servers.list({ signal })).map(({ name }) => name);
  const [name] = names;
  if (name !== undefined && names.length === 1) return name;
  throw new UsageError(
    names.length === 0 ? 'the sandbox has no server.' : `name a server: there are ${names.join(', ')}.`,
  );
}

export const eventsCommand: CommandSpec = {
  name: 'events',
  usage: '<sandbox|run>',
  summary: 'follow what happens in a sandbox or a run, until Ctrl-C',
  examples: [['porthole events try --json', 'an object a line']],
  async run(context) {
    const { given, porthole, signal, print } = context;
    const word = given.positionals[0] ?? '';
    const followed = word.startsWith('run_')
      ? (await porthole.run(word, { signal })).events({ signal })
      : (await holdSandbox(context)).events({ signal });
    for await (const event of followed) {
      const { id: _id, type, ...fields } = event;
      await print(given.is('json') ? JSON.stringify(event) : plain(`${type} ${JSON.stringify(fields)}`));
    }
    return 0;
  },
};
