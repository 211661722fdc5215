import { type CommandSpec, type Context, JSON_OPTION } from '../command.ts';
import { findSandbox } from '../hold-sandbox.ts';

export const stopCommand: CommandSpec = {
  name: 'stop',
  usage: '<sandbox>',
  summary: 'end what runs in a sandbox; its files stay',
  options: JSON_OPTION,
  examples: [['porthole stop try', 'until it is resumed, or used']],
  positionals: [1, 1],
  run: (context) => change(context, 'stop'),
};

export const resumeCommand: CommandSpec = {
  name: 'resume',
  usage: '<sandbox>',
  summary: 'start a stopped sandbox again, on its files',
  options: JSON_OPTION,
  examples: [['porthole resume try', 'as exec and shell do, too']],
  positionals: [1, 1],
  run: (context) => change(context, 'resume'),
};

async function change(context: Context, how: 'stop' | 'resume'): Promise<number> {
  const { given, signal, print } = context;
  const sandbox = await findSandbox(context);
  const info = await sandbox[how]({ signal });
  await print(given.is('json') ? JSON.stringify(info) : `${info.id} ${info.state}`);
  return 0;
}
