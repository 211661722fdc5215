import { PortholeError } from '../http/porthole-error.ts';
import { Porthole } from '../node/index.ts';
import { VERSION } from '../version.ts';
import {
  type CommandSpec,
  type Context,
  optionsOf,
  type OptionSpec,
  type Streams,
  UsageError,
} from './command.ts';
import { COMMANDS } from './commands.ts';
import { plain, table, write } from './print.ts';
import { readArguments, usageOf } from './read-arguments.ts';

/** The exit code of shells for a program that SIGINT ended. */
const INTERRUPTED = 130;

/** Runs `porthole` with these arguments; resolves to its exit code. Never rejects. */
export async function runCommand(
  words: readonly string[],
  streams: Streams,
  signal: AbortSignal,
): Promise<number> {
  const [name, ...others] = words;
  const isJson = words.slice(0, words.includes('--') ? words.indexOf('--') : undefined).includes('--json');
  try {
    if (name === undefined) {
      await write(streams.stderr, overview(COMMANDS));
      return 2;
    }
    if (['--version', '-V', '-v'].includes(name)) return await say(streams, `${VERSION}\n`);
    if (['help', '--help', '-h'].includes(name)) {
      const of = COMMANDS.find((each) => each.name === others[0]);
      return await say(streams, of === undefined ? overview(COMMANDS) : helpOf(of));
    }
    return await run(find(name), others, streams, signal);
  } catch (error) {
    if (signal.aborted) return INTERRUPTED;
    const command = COMMANDS.find((each) => each.name === name);
    await complain(streams, error, isJson, command?.name);
    return error instanceof UsageError ? 2 : (command?.failureCode ?? 1);
  }
}

async function run(
  command: CommandSpec,
  words: readonly string[],
  streams: Streams,
  signal: AbortSignal,
): Promise<number> {
  const given = readArguments(command, words);
  if (given.help) return say(streams, helpOf(command));
  const print = (line: string) => write(streams.stdout, `${line}\n`);
  const context: Context = {
    given,
    porthole: connect(streams),
    streams,
    signal,
    print,
    async show(value, ...lines) {
      for (const line of given.is('json') ? [JSON.stringify(value)] : lines) await print(line);
      return 0;
    },
    note: (line) => write(streams.stderr, `${line}\n`),
  };
  return command.run(context);
}

function find(name: string): CommandSpec {
  const found = COMMANDS.find((each) => each.name === name);
  if (found !== undefined) return found;
  const names = COMMANDS.map((each) => each.name);
  const meant = nearest(name, names);
  const remedy = meant === undefined ? `There are ${names.join(', ')}.` : `Did you mean ${meant}?`;
  throw new UsageError(`there is no command ${JSON.stringify(name.slice(0, 40))}. ${remedy}`);
}

function connect({ environment }: Streams): Porthole {
  const { PORTHOLE_URL: url, PORTHOLE_API_KEY: apiKey } = environment;
  try {
    return new Porthole({ url: url || undefined, apiKey: apiKey || undefined });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const words = error.message.replace(/^url/, 'PORTHOLE_URL').replace(/^apiKey/, 'PORTHOLE_API_KEY');
    throw new UsageError(
      words.replace('give the credential as apiKey', 'the credential goes into PORTHOLE_API_KEY'),
    );
  }
}

async function complain(
  { stderr, environment }: Streams,
  error: unknown,
  isJson: boolean,
  command: string | undefined,
): Promise<void> {
  const message = inWords(error instanceof Error ? error.message : String(error));
  const remedy = remedyOf(error, environment);
  const isSaid = remedy === undefined || message.includes(remedy.slice(1, -1));
  const id = error instanceof PortholeError && error.requestId;
  const words = [
    isSaid ? message : `${message.replace(/[.:]?$/, '.')} ${remedy}`,
    ...(typeof id === 'string' ? [`(request ${id})`] : []),
  ].join(' ');
  if (isJson) {
    const code =
      error instanceof PortholeError ? error.code : error instanceof UsageError ? 'usage' : 'failed';
    return write(stderr, `${JSON.stringify({ error: words, code, remedy })}\n`);
  }
  const help = command === undefined ? 'porthole --help' : `porthole ${command} --help`;
  return write(
    stderr,
    `porthole: ${words.split('\n').map(plain).join('\n')}\n${error instanceof UsageError ? `See ${help}\n` : ''}`,
  );
}

/** The remedy of an error in the words of the command line. */
function remedyOf(error: unknown, { PORTHOLE_API_KEY: key }: Streams['environment']): string | undefined {
  if (!(error instanceof PortholeError)) return undefined;
  if (error.code !== 'unauthorized') return error.remedy === undefined ? undefined : inWords(error.remedy);
  return key === undefined || key === ''
    ? 'Set PORTHOLE_API_KEY to your key.'
    : 'PORTHOLE_API_KEY is invalid or expired. If it is the token of an agent, its run has ended: make a new run.';
}

/** Errors name a URL and routes where the command line has a variable and commands. */
function inWords(text: string): string {
  return text
    .replace('the URL is right', 'PORTHOLE_URL is right')
    .replace('in the URL', 'in PORTHOLE_URL')
    .replace(/list yours to see/i, 'porthole list shows')
    .replace('POST /v1/sandbox makes', 'porthole create makes')
    .replace(/POST \/v1\/sandbox\/([\w-]+)\/resume/, 'porthole resume $1');
}

async function say({ stdout }: Streams, text: string): Promise<number> {
  await write(stdout, text);
  return 0;
}

/** The text of `porthole --help`. */
export function overview(commands: readonly CommandSpec[]): string {
  return `porthole: sandboxes, and live previews of what runs in them

usage: porthole <command> [options]

${indented(commands.map(({ name, usage, summary }) => [`${name} ${usage}`.trim(), summary]))}

A <sandbox> is an id, a name, the id of its run, or the folder that up shows in it (., ./app). Every command has --help, and --json where it prints.

environment:
${indented([
  ['PORTHOLE_URL', 'where Porthole is; default http://127.0.0.1:8787'],
  ['PORTHOLE_API_KEY', 'your key, where one is needed; never on the command line'],
])}

a first try:
${indented([
  ['porthole up', 'this folder, as a live preview'],
  ['porthole create --name try', 'a sandbox'],
  ['porthole sync . try', 'this folder, into it'],
  ['porthole exec try -- ls -la', 'a command'],
  ['porthole shell try', 'a terminal'],
  ['porthole preview try 3000', 'what listens there on port 3000, in your browser'],
  ['porthole delete try', 'and gone'],
])}

on the host's machine, in its folder:
${indented([
  ['porthole backup <folder|file>', 'write the data folder into a new file, while the host runs'],
  ['porthole restore <file>', 'fill a new data folder from it'],
])}

exits: the program's own code for exec and shell, 255 where Porthole itself fails; else 0 done, 1 failed or not as it should
be (check, curl, doctor, look); 2 wrong usage, 130 ended by Ctrl-C
`;
}

/** The text of `porthole <command> --help`. */
export function helpOf(command: CommandSpec): string {
  const options = [
    ...Object.entries(optionsOf(command)).map(([name, option]) => [flag(name, option), option.help] as const),
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

/** The closest word within an edit distance of two, or a word that starts with the typed one. */
export function nearest(typed: string, words: readonly string[]): string | undefined {
  const [best] = words
    .map((word) => ({ word, distance: distance(typed, word) }))
    .filter((each) => each.distance <= 2 && each.distance * 2 <= typed.length)
    .sort((a, b) => a.distance - b.distance);
  if (best !== undefined) return best.word;
  const begun = words.filter((word) => typed.length > 1 && word.startsWith(typed));
  return begun.length === 1 ? begun[0] : undefined;
}

/** Optimal string alignment distance. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const at = (up: number, left: number): number =>
        (up === 0 ? row : (rows[i - up] as number[]))[j - left] as number;
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(at(1, 0) + 1, at(0, 1) + 1, at(1, 1) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, at(2, 2) + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? 0;
}
