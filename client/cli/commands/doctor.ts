import { type CommandSpec, JSON_OPTION } from '../command.ts';
import { plain } from '../plain.ts';
import { readPort } from '../read-port.ts';
import { runOf } from '../run-of.ts';

export const doctorCommand: CommandSpec = {
  name: 'doctor',
  usage: '<sandbox|run> <port>',
  summary: 'say whether a preview of a port shows the server, and what to do if not',
  options: JSON_OPTION,
  examples: [['porthole doctor try 3000', 'one sentence; exit code 0 where it shows']],
  positionals: [2, 2],
  async run(context) {
    const { given, signal, print } = context;
    const [word = '', text = ''] = given.positionals;
    const port = readPort(text);
    const report = await (await runOf(context, word, 'make')).doctor(port, { signal });
    await print(given.is('json') ? JSON.stringify(report) : plain(report.advice));
    return report.ports.some((each) => each.port === port && each.ready) ? 0 : 1;
  },
};
