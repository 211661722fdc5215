import type { CommandSpec } from './command.ts';
import { createCommand } from './commands/create.ts';
import { delegateCommand } from './commands/delegate.ts';
import { deleteCommand } from './commands/delete.ts';
import { doctorCommand } from './commands/doctor.ts';
import { execCommand } from './commands/exec.ts';
import { checkCommand, lookCommand } from './commands/look.ts';
import { listCommand } from './commands/list.ts';
import { previewCommand } from './commands/preview.ts';
import { resumeCommand, stopCommand } from './commands/stop-and-resume.ts';
import { shellCommand } from './commands/shell.ts';
import { statusCommand } from './commands/status.ts';
import { syncCommand } from './commands/sync.ts';

/** All commands, in the order in which the help has them. */
export const COMMANDS: readonly CommandSpec[] = [
  createCommand,
  listCommand,
  execCommand,
  shellCommand,
  syncCommand,
  previewCommand,
  statusCommand,
  doctorCommand,
  checkCommand,
  lookCommand,
  delegateCommand,
  stopCommand,
  resumeCommand,
  deleteCommand,
];
