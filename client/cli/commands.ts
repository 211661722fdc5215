import { type CommandSpec, joinWithOr, UsageError } from './command.ts';
import { completionCommand } from './commands/completion.ts';
import { copyCommand, moveCommand } from './commands/copy.ts';
import { createCommand } from './commands/create.ts';
import { curlCommand } from './commands/curl.ts';
import { approvalsCommand, approveCommand, denyCommand } from './commands/decide.ts';
import { delegateCommand } from './commands/delegate.ts';
import { execCommand } from './commands/exec.ts';
import { inboxCommand } from './commands/inbox.ts';
import { eventsCommand, logsCommand, psCommand } from './commands/inspect.ts';
import { listCommand, runsCommand } from './commands/list.ts';
import { checkCommand, lookCommand } from './commands/look.ts';
import { networkCommand } from './commands/network.ts';
import { openCommand, previewCommand } from './commands/preview.ts';
import { shellCommand } from './commands/shell.ts';
import { deleteCommand, resumeCommand, stopCommand } from './commands/stop-and-delete.ts';
import { syncCommand } from './commands/sync.ts';
import { upCommand } from './commands/up.ts';
import { plain } from './print.ts';
import { runAndPort, runOf } from './run-of.ts';

export const doctorCommand: CommandSpec = {
  name: 'doctor',
  usage: '<sandbox|run> <port>',
  summary: 'say whether a preview of a port shows the server, and what to do if not',
  options: {
    gateway: {
      type: 'boolean',
      help: "check the Gateway of a cluster, in a clone of Porthole's repository: porthole doctor --gateway --help",
    },
  },
  examples: [['porthole doctor try 3000', 'one sentence; exit code 0 if it shows']],
  async run(context) {
    const { given, signal, show } = context;
    if (given.is('gateway'))
      throw new UsageError("--gateway needs a clone of Porthole's repository: run npx porthole there.");
    const { run, port } = await runAndPort(context);
    const report = await run.doctor(port, { signal });
    await show(report, plain(report.advice));
    return report.ports.some((each) => each.port === port && each.ready) ? 0 : 1;
  },
};

export const statusCommand: CommandSpec = {
  name: 'status',
  usage: '<sandbox|run>',
  summary: 'list the live previews of a run, or those that preview opened of a sandbox',
  examples: [['porthole status try', 'port and URL, one per line']],
  async run(context) {
    const { given, signal, show } = context;
    const run = await runOf(context, given.positionals[0] ?? '');
    const previews = (await run?.previews({ signal })) ?? [];
    const infos = previews.map(({ info }) => info);
    return show(infos, ...previews.map(({ port, url }) => `${port} ${url}`));
  },
};

const SHARING = ['private', 'view', 'work'] as const;

export const shareCommand: CommandSpec = {
  name: 'share',
  usage: '<run> [private|view|work]',
  summary: 'share a run with the people of your organisation, or print how it is shared',
  examples: [
    ['porthole share run_01… view', 'they see the run, its previews, files and output'],
    ['porthole share run_01… private', 'stop sharing; their open terminals end'],
  ],
  async run(context) {
    const { given, signal, show } = context;
    const [word = '', text] = given.positionals;
    const sharing = SHARING.find((mode) => mode === text);
    if (text !== undefined && sharing === undefined) {
      throw new UsageError(`share it as ${joinWithOr(SHARING)}, got ${JSON.stringify(text)}.`);
    }
    const run = await runOf(context, word, 'make');
    const info = sharing === undefined ? run.info : await run.share(sharing, { signal });
    return show(info, plain(`${info.run_id} ${info.sharing}`));
  },
};

/** All commands, in the order of the help. */
export const COMMANDS: readonly CommandSpec[] = [
  upCommand,
  createCommand,
  listCommand,
  runsCommand,
  execCommand,
  shellCommand,
  syncCommand,
  copyCommand,
  moveCommand,
  psCommand,
  logsCommand,
  eventsCommand,
  networkCommand,
  previewCommand,
  openCommand,
  curlCommand,
  statusCommand,
  doctorCommand,
  checkCommand,
  lookCommand,
  inboxCommand,
  approvalsCommand,
  approveCommand,
  denyCommand,
  shareCommand,
  delegateCommand,
  stopCommand,
  resumeCommand,
  deleteCommand,
  completionCommand(() => COMMANDS),
];
