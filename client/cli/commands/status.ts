import { type CommandSpec, JSON_OPTION } from '../command.ts';
import { runOf } from '../run-of.ts';

export const statusCommand: CommandSpec = {
  name: 'status',
  usage: '<sandbox|run>',
  summary: 'list the live previews of a run, or those that preview opened of a sandbox',
  options: JSON_OPTION,
  examples: [['porthole status try', 'port and URL, a line each']],
  positionals: [1, 1],
  async run(context) {
    const { given, signal, print } = context;
    const run = await runOf(context, given.positionals[0] ?? '');
    const previews = (await run?.previews({ signal })) ?? [];
    if (given.is('json')) await print(JSON.stringify(previews.map(({ info }) => info)));
    else for (const { port, url } of previews) await print(`${port} ${url}`);
    return 0;
  },
};
