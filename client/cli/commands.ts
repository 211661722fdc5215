import type { CommandSpec } from './command.ts';
import { auditCommand } from './commands/audit.ts';
import { checkpointCommand, diffCommand, forkCommand } from './commands/checkpoint.ts';
import { completionCommand } from './commands/completion.ts';
import { copyCommand, moveCommand } from './commands/copy.ts';
import { createCommand } from './commands/create.ts';
import { curlCommand } from './commands/curl.ts';
import { approvalsCommand, approveCommand, denyCommand } from './commands/decide.ts';
import { delegateCommand } from './commands/delegate.ts';
import { doctorCommand } from './commands/doctor.ts';
import { execCommand } from './commands/exec.ts';
import { inboxCommand } from './commands/inbox.ts';
import { eventsCommand, logsCommand, psCommand } from './commands/inspect.ts';
import { listCommand, runsCommand } from './commands/list.ts';
import { checkCommand, lookCommand } from './commands/look.ts';
import { networkCommand } from './commands/network.ts';
import { openCommand, previewCommand } from './commands/preview.ts';
import { shareCommand } from './commands/share.ts';
import { shellCommand } from './commands/shell.ts';
import { deleteCommand, resumeCommand, stopCommand } from './commands/stop-and-delete.ts';
import { syncCommand } from './commands/sync.ts';
import { upCommand } from './commands/up.ts';
import { usageCommand } from './commands/usage.ts';
import { webhooksCommand } from './commands/webhooks.ts';
import { runOf } from './run-of.ts';

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
  checkpointCommand,
  forkCommand,
  diffCommand,
  auditCommand,
  webhooksCommand,
  stopCommand,
  resumeCommand,
  deleteCommand,
  usageCommand,
  completionCommand(() => COMMANDS),
];
