import type { CommandSpec, OptionSpec } from './command.ts';
import { usageOf } from './read-arguments.ts';
import { table } from './table.ts';

/** What `porthole --help` says. */
export function overview(commands: readonly CommandSpec[]): string {
  return `porthole: sandboxes, and live previews of what runs in them

usage: porthole <command> [options]

${indented(commands.map(({ name, usage, summary }) => [`${name} ${usage}`.trim(), summary]))}

A <sandbox> is an id or a name. Every command has --help, and --json where it prints.

environment:
${indented([
  ['PORTHOLE_URL', 'where Porthole is; default http://127.0.0.1:8787'],
  ['PORTHOLE_API_KEY', 'your key, where one is needed; never on the command line'],
])}

a first try:
${indented([
  ['porthole create --name try', 'a sandbox'],
  ['porthole sync . try', 'this folder, into it'],
  ['porthole exec try -- ls -la', 'a command'],
  ['porthole shell try', 'a terminal'],
  ['porthole preview try 3000', 'what listens there on port 3000, in your browser'],
  ['porthole delete try', 'and gone'],
])}

exits: the command's own code for exec and shell; else 0 done, 1 failed, 2 wrong usage
`;
}

/** What `porthole <command> --help` says. */
export function helpOf(command: CommandSpec): string {
  const options = [
    ...Object.entries(command.options).map(([name, option]) => [flag(name, option), option.help] as const),
    ['-h, --help', 'this'] as const,
  ];
  const parts = [
    `${command.summary}\n\nusage: ${usageOf(command)}`,
    ...(command.details === undefined ? [] : [command.details]),
    `options:\n${indented(options)}`,
    `examples:\n${indented(command.examples)}`,
  ];
  return `${parts.join('\n\n')}\n`;
}

function flag(name: string, { short, value, multiple }: OptionSpec): string {
  const own = `${short === undefined ? '' : `-${short}, `}--${name}`;
  return `${own}${value === undefined ? '' : ` ${value}`}${multiple === true ? ' …' : ''}`;
}

function indented(rows: readonly (readonly string[])[]): string {
  return table(rows)
    .map((line) => `  ${line}`)
    .join('\n');
}
