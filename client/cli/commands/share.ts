import { type CommandSpec, JSON_OPTION, UsageError } from '../command.ts';
import { plain } from '../plain.ts';
import { runOf } from '../run-of.ts';

const MODES = ['private', 'view', 'work'] as const;

export const shareCommand: CommandSpec = {
  name: 'share',
  usage: '<run> [private|view|work]',
  summary: 'share a run with the people of your organisation, or print how it is shared',
  options: JSON_OPTION,
  examples: [
    ['porthole share run_01… view', 'they see the run, its previews, files and output'],
    ['porthole share run_01… private', 'no longer; their open terminals end'],
  ],
  positionals: [1, 2],
  async run(context) {
    const { given, signal, print } = context;
    const [word = '', text] = given.positionals;
    const sharing = MODES.find((mode) => mode === text);
    if (text !== undefined && sharing === undefined) {
      throw new UsageError(`share it as ${MODES.join(', ')}, got ${text}.`);
    }
    const run = await runOf(context, word, 'make');
    const info = sharing === undefined ? run.info : await run.share(sharing, { signal });
    await print(given.is('json') ? JSON.stringify(info) : plain(`${info.run_id} ${info.sharing}`));
    return 0;
  },
};
