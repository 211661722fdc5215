import { type CommandSpec, type Context, UsageError } from '../command.ts';
import { plain, table } from '../print.ts';
import { runAndPort } from '../run-of.ts';

export const doctorCommand: CommandSpec = {
  name: 'doctor',
  usage: '[sandbox|run] [port]',
  summary: 'check the installation, or a preview of a port, and say what to do',
  details:
    'Without arguments it checks what the installation needs, such as its database, certificate and capacity; for admins. With a port it says whether a preview of it shows the server.',
  options: {
    gateway: {
      type: 'boolean',
      help: "check the Gateway of a cluster, in a clone of Porthole's repository: porthole doctor --gateway --help",
    },
  },
  examples: [
    ['porthole doctor', 'a line for each check; exit code 1 if one failed'],
    ['porthole doctor try 3000', 'one sentence; exit code 0 if it shows'],
  ],
  async run(context) {
    const { given, signal, show } = context;
    if (given.is('gateway'))
      throw new UsageError("--gateway needs a clone of Porthole's repository: run npx porthole there.");
    if (given.positionals.length === 0) return checkInstallation(context);
    const { run, port } = await runAndPort(context);
    const report = await run.doctor(port, { signal });
    await show(report, plain(report.advice));
    return report.ports.some((each) => each.port === port && each.ready) ? 0 : 1;
  },
};

async function checkInstallation({ porthole, signal, show }: Context): Promise<number> {
  const found = await porthole.checks({ signal });
  const lines = table(found.checks.map(({ state, name, detail }) => [state, name, detail]));
  await show(
    found,
    ...found.checks.flatMap(({ remedy }, at) => [
      lines[at] ?? '',
      ...(remedy === null ? [] : [`         ${plain(remedy)}`]),
    ]),
  );
  return found.ok ? 0 : 1;
}
