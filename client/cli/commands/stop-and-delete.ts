import { type CommandSpec, type Context, UsageError } from '../command.ts';
import type { Sandbox } from '../../resources/sandbox.ts';
import { findSandbox } from '../hold-sandbox.ts';
import { readTags } from '../read-values.ts';

export const stopCommand: CommandSpec = {
  name: 'stop',
  usage: '<sandbox>',
  summary: 'stop a sandbox; its files stay',
  examples: [['porthole stop try', 'until it is resumed, or used']],
  run: (context) => change(context, 'stop'),
};

export const resumeCommand: CommandSpec = {
  name: 'resume',
  usage: '<sandbox>',
  summary: 'start a stopped sandbox again, with its files',
  examples: [['porthole resume try', 'as exec and shell do, too']],
  run: (context) => change(context, 'resume'),
};

async function change(context: Context, how: 'stop' | 'resume'): Promise<number> {
  const sandbox = await findSandbox(context);
  const info = await sandbox[how]({ signal: context.signal });
  return context.show(info, `${info.id} ${info.state}`);
}

export const deleteCommand: CommandSpec = {
  name: 'delete',
  usage: '<sandbox>… | --tag KEY=VALUE',
  summary: 'destroy sandboxes, with their files',
  options: {
    tag: { type: 'string', value: 'KEY=VALUE', help: 'all of yours that have it' },
    force: { type: 'boolean', help: 'with --tag: also those that were not made to go with their thread' },
  },
  examples: [
    ['porthole delete try', 'one'],
    ['porthole delete --tag thread_id=42 --force', 'those of a conversation'],
  ],
  async run(context) {
    const { given, porthole, signal, show } = context;
    const tag = given.text('tag');
    if ((tag === undefined) === (given.positionals.length === 0)) {
      const got = tag === undefined ? 'neither' : `--tag ${tag} and ${given.positionals.join(' ')}`;
      throw new UsageError(`name the sandboxes, or give one --tag: either, and not both, got ${got}.`);
    }
    const ids: string[] = [];
    if (tag === undefined) {
      const found = new Map<string, Sandbox>();
      // All first: a mistyped name deletes nothing.
      for (const word of given.positionals) {
        const sandbox = await findSandbox(context, word);
        found.set(sandbox.id, sandbox);
      }
      for (const sandbox of found.values()) {
        await sandbox.delete({ signal });
        ids.push(sandbox.id);
      }
    } else {
      const [[key, value] = ['', '']] = Object.entries(readTags([tag]));
      ids.push(...(await porthole.sandboxes.deleteByTag(key, value, { force: given.is('force'), signal })));
    }
    return show({ deleted: ids }, ...ids.map((id) => `${id} deleted`));
  },
};
