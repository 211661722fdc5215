import { PortholeError } from '../http/porthole-error.ts';
import { openNodeSocket } from '../node/node-socket.ts';
import { Porthole } from '../porthole.ts';
import { VERSION } from '../version.ts';
import { type CommandSpec, type Context, type Streams, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';
import { helpOf, overview } from './help.ts';
import { nearest } from './nearest.ts';
import { plain } from './plain.ts';
import { readArguments } from './read-arguments.ts';
import { write } from './write.ts';

const DEFAULT_URL = 'http://127.0.0.1:8787';

/** What a shell says of a program that SIGINT ended. */
const INTERRUPTED = 130;

/** Runs `porthole` with these words; resolves to its exit code. Never rejects. */
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
    if (name === '--version') return await say(streams, `${VERSION}\n`);
    if (['help', '--help', '-h'].includes(name)) {
      const of = COMMANDS.find((each) => each.name === others[0]);
      return await say(streams, of === undefined ? overview(COMMANDS) : helpOf(of));
    }
    return await run(find(name), others, streams, signal);
  } catch (error) {
    if (signal.aborted) return INTERRUPTED;
    await complain(streams, error, isJson, COMMANDS.some((each) => each.name === name) ? name : undefined);
    return error instanceof UsageError ? 2 : 1;
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
  const context: Context = {
    given,
    porthole: connect(streams),
    streams,
    signal,
    print: (line) => write(streams.stdout, `${line}\n`),
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
    return new Porthole({
      url: url === undefined || url === '' ? DEFAULT_URL : url,
      apiKey: apiKey === '' ? undefined : apiKey,
      openSocket: openNodeSocket,
    });
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
  const message = error instanceof Error ? error.message : String(error);
  const words = message.replace('the URL is right', 'PORTHOLE_URL is right') + remedyOf(error, environment);
  if (isJson) {
    const code =
      error instanceof PortholeError ? error.code : error instanceof UsageError ? 'usage' : 'failed';
    return write(stderr, `${JSON.stringify({ error: words, code })}\n`);
  }
  const help = command === undefined ? 'porthole --help' : `porthole ${command} --help`;
  return write(stderr, `porthole: ${plain(words)}\n${error instanceof UsageError ? `See ${help}\n` : ''}`);
}

/** What the API leaves open. */
function remedyOf(error: unknown, { PORTHOLE_API_KEY: key }: Streams['environment']): string {
  if (!(error instanceof PortholeError)) return '';
  if (error.code === 'unauthorized') {
    return key === undefined || key === ''
      ? ': set PORTHOLE_API_KEY to your key.'
      : ': PORTHOLE_API_KEY is not good here, or not any more.';
  }
  return error.requestId === undefined ? '' : ` (request ${error.requestId})`;
}

async function say({ stdout }: Streams, text: string): Promise<number> {
  await write(stdout, text);
  return 0;
}
