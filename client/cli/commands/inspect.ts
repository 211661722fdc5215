import { PortholeError } from '../../http/porthole-error.ts';
import type { ServerInfo } from '../../resources/process-info.ts';
import type { Process } from '../../resources/processes.ts';
import type { Sandbox } from '../../resources/sandbox.ts';
import { TextPieces } from '../../streams/decode-text.ts';
import { type CommandSpec, UsageError } from '../command.ts';
import { holdSandbox } from '../hold-sandbox.ts';
import { plain, showTable, write } from '../print.ts';
import { ago } from './list.ts';

/** Commands that show what runs in a sandbox. */

export const psCommand: CommandSpec = {
  name: 'ps',
  usage: '<sandbox|run>',
  summary: 'list the servers and processes of a sandbox',
  examples: [['porthole ps try', 'what runs, and what ended last']],
  async run(context) {
    const sandbox = await holdSandbox(context);
    const { servers, processes, own } = await listStarted(sandbox, context.signal);
    const now = new Date();
    const rows = [
      ['NAME', 'STATE', 'PORT', 'AGE', 'COMMAND'],
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
    const value = { servers, processes: processes.map(({ info }) => info) };
    return showTable(context, value, rows, 'Nothing runs.');
  },
};

async function listStarted(sandbox: Sandbox, signal: AbortSignal) {
  const [servers, processes] = await Promise.all([
    sandbox.servers.list({ signal }),
    sandbox.processes.list({ signal }),
  ]);
  // Those of servers are in the list of servers already.
  return { servers, processes, own: processes.filter(({ info }) => info.started_by.kind !== 'server') };
}

export const logsCommand: CommandSpec = {
  name: 'logs',
  usage: '<sandbox|run> [server|process]',
  summary: 'print what a server or a process printed; without a name, the only server',
  details: 'A server goes by its name or port, a process by its id or name: porthole ps lists them.',
  options: {
    follow: { type: 'boolean', short: 'f', help: 'follow new output, until Ctrl-C' },
    tail: { type: 'string', value: 'LINES', help: 'of a server: only the last lines' },
  },
  json: 'print one object per line: {"stream", "text"}',
  examples: [
    ['porthole logs try web -f', 'of the server web'],
    ['porthole logs try 3000 --tail 20', 'of the server with that port'],
  ],
  async run(context) {
    const { given, streams, signal, print } = context;
    const tail = given.text('tail');
    if (tail !== undefined && !/^\d{1,6}$/.test(tail))
      throw new UsageError(`--tail must be a number of lines, got ${JSON.stringify(tail)}.`);
    const sandbox = await holdSandbox(context);
    const found = await findStarted(sandbox, given.positionals[1], signal);
    const options = { follow: given.is('follow'), signal };
    const lines = tail === undefined ? undefined : Number(tail);
    if ('process' in found && tail !== undefined)
      throw new UsageError(`--tail takes a server, and ${found.process.id} is a process.`);
    const events =
      'process' in found
        ? found.process.output(options)
        : sandbox.servers.logs(found.server.name, { ...options, tail: lines });
    const pieces = { stdout: new TextPieces(), stderr: new TextPieces() };
    const printText = (stream: 'stdout' | 'stderr', text: string) => print(JSON.stringify({ stream, text }));
    for await (const event of events) {
      if (event.type === 'cut') for (const each of Object.values(pieces)) each.skip();
      if (event.type !== 'stdout' && event.type !== 'stderr') continue;
      if (given.is('json')) await printText(event.type, pieces[event.type].push(event.data));
      else await write(streams[event.type], event.data);
    }
    for (const stream of ['stdout', 'stderr'] as const) {
      const rest = pieces[stream].end();
      if (rest !== '') await printText(stream, rest);
    }
    return 0;
  },
};

/**
 * A server by its name or port, or a process by its id or name, the newest first; without a name
 * the only server.
 */
async function findStarted(
  sandbox: Sandbox,
  name: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly server: ServerInfo } | { readonly process: Process }> {
  const { servers, own } = await listStarted(sandbox, signal);
  const server =
    name === undefined
      ? servers.length === 1 && servers[0]
      : (servers.find((each) => each.name === name) ?? servers.find((each) => String(each.port) === name));
  if (server) return { server };
  const process = own.find(({ id }) => id === name) ?? own.find(({ info }) => info.name === name);
  if (name !== undefined && process !== undefined) return { process };
  const names = [...servers.map((each) => each.name), ...own.map(({ id }) => id)].slice(0, MAX_NAMES);
  const choice = names.length === 0 ? 'Nothing was started there.' : `There are: ${names.join(', ')}.`;
  if (name === undefined) throw new UsageError(`name a server or a process. ${choice}`);
  throw new PortholeError(`There is no server or process ${JSON.stringify(name.slice(0, 64))}. ${choice}`, {
    status: 404,
    code: 'server_not_found',
  });
}

/** Names that an error lists. */
const MAX_NAMES = 20;

export const eventsCommand: CommandSpec = {
  name: 'events',
  usage: '<sandbox|run>',
  summary: 'follow what happens in a sandbox or a run, until Ctrl-C',
  examples: [['porthole events try --json', 'one object per line']],
  async run(context) {
    const { given, porthole, signal, show } = context;
    const word = given.positionals[0] ?? '';
    const followed = word.startsWith('run_')
      ? (await porthole.run(word, { signal })).events({ signal })
      : (await holdSandbox(context)).events({ signal });
    for await (const event of followed) {
      const { id: _id, type, ...fields } = event;
      await show(event, plain(`${type} ${JSON.stringify(fields)}`));
    }
    return 0;
  },
};
