/** `porthole` in a sandbox: its arguments, its errors and its exit code. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { CommandError, EXIT, GuestCalls, unreachable } from './guest-calls.ts';
import { commandHelp, type CommandName, COMMANDS, generalHelp, isCommand } from './help.ts';
import {
  checkPage,
  lookAtPage,
  type PageRequest,
  previewDoctor,
  previewStatus,
  printInbox,
  replyToMessage,
  sharePreview,
  startPreview,
  stopPreview,
} from './host-commands.ts';
import { listStarted, printLogs, serve, stopStarted } from './server-commands.ts';

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const all = { type: 'boolean', short: 'a' } as const;
const PAGE_OPTIONS = { path: text, device: text, json: flag };

const OPTIONS: Readonly<Record<CommandName, NonNullable<ParseArgsConfig['options']>>> = {
  serve: { name: text, restart: text, http: text, log: text, timeout: text, replace: flag, 'no-wait': flag },
  ps: { all, json: flag },
  logs: { follow: { type: 'boolean', short: 'f' }, lines: { type: 'string', short: 'n' } },
  stop: { remove: flag },
  preview: {},
  share: { label: text, level: text, expires: text, uses: text, 'may-wake': flag },
  status: {},
  doctor: {},
  check: { ...PAGE_OPTIONS, wait: text },
  look: { ...PAGE_OPTIONS, out: text, 'full-page': flag },
  inbox: { all, json: flag, reply: text },
};

/** Resolves to the exit code, after printing errors on stderr. */
export async function runCommand(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // `porthole logs -f app | head` ends it.
  process.stdout.on('error', () => process.exit(EXIT.done));
  try {
    return await run(args, env);
  } catch (error) {
    // Another program listens in the guest's place: its answers do not follow the protocol.
    const isForged = error instanceof SyntaxError || error instanceof TypeError;
    const known = isForged ? unreachable(`gives an answer of another program (${error.message})`) : error;
    if (!(known instanceof CommandError)) throw error;
    process.stderr.write(`porthole: ${known.message}\n`);
    return known.exit;
  }
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [name = '', ...rest] = args;
  if (name === 'help' || name === '--help' || name === '-h') {
    const [about = ''] = rest;
    process.stdout.write(isCommand(about) ? commandHelp(about) : generalHelp());
    return EXIT.done;
  }
  if (!isCommand(name)) {
    process.stderr.write(generalHelp());
    return EXIT.usage;
  }
  const split = rest.indexOf('--');
  const own = split < 0 ? rest : rest.slice(0, split);
  if (own.includes('--help') || own.includes('-h')) {
    process.stdout.write(commandHelp(name));
    return EXIT.done;
  }
  const usage = (what: string): CommandError =>
    new CommandError(
      EXIT.usage,
      `${what}\nusage: porthole ${COMMANDS[name].usage}   (porthole ${name} --help says more)`,
    );
  const { positionals, values } = parse(own, name, usage);
  const command = split < 0 ? undefined : rest.slice(split + 1);
  checkCount(name, positionals, usage);
  if (command !== undefined && name !== 'serve') throw usage(`${name} takes no command.`);
  const code = await ACTIONS[name]({
    target: positionals[0] ?? '',
    command,
    env,
    usage,
    text: (option) => values[option] as string | undefined,
    flag: (option) => values[option] === true,
  });
  return code ?? EXIT.done;
}

interface Invocation {
  readonly target: string;
  /** What follows `--`. */
  readonly command: readonly string[] | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly usage: Usage;
  text(this: void, option: string): string | undefined;
  flag(this: void, option: string): boolean;
}

/** The actions of the commands. Each resolves to the exit code, or to undefined for 0. */
const ACTIONS: Readonly<Record<CommandName, (invocation: Invocation) => Promise<number | void>>> = {
  serve: async ({ target, command, env, usage, text, flag }) => {
    const [program, ...others] = command ?? [];
    if (program === undefined) throw usage('serve needs -- and a command.');
    return serve(new GuestCalls(env), {
      port: portOf(target, usage),
      command: [program, ...others],
      env,
      name: text('name'),
      restart: text('restart'),
      http: text('http'),
      log: text('log'),
      timeoutSeconds: count(text('timeout'), '--timeout', usage),
      isReplacing: flag('replace'),
      waits: !flag('no-wait'),
      usage,
    });
  },
  ps: async ({ env, flag }) => listStarted(new GuestCalls(env), { all: flag('all'), asJson: flag('json') }),
  logs: async ({ target, env, usage, text, flag }) => {
    const lines = count(text('lines'), '--lines', usage);
    return printLogs(new GuestCalls(env), target, { follow: flag('follow'), lines });
  },
  stop: async ({ target, env, usage, flag }) => {
    if (!/^\d+$/.test(target)) return stopStarted(new GuestCalls(env), target, flag('remove'));
    if (flag('remove')) throw usage(`--remove needs the name of a server, got the port ${target}.`);
    return stopPreview(env, portOf(target, usage));
  },
  preview: async ({ target, env, usage }) => startPreview(env, portOf(target, usage)),
  share: async ({ target, env, usage, text, flag }) =>
    sharePreview(env, {
      port: portOf(target, usage),
      label: text('label'),
      level: text('level'),
      expiresInSeconds: seconds(text('expires'), usage),
      maxUses: count(text('uses'), '--uses', usage),
      mayWake: flag('may-wake'),
    }),
  status: async ({ env }) => previewStatus(env),
  doctor: async ({ target, env, usage }) => previewDoctor(env, portOf(target, usage)),
  check: async (invocation) => {
    const { env, usage, text } = invocation;
    const waitSeconds = count(text('wait'), '--wait', usage);
    return checkPage(env, { ...pageOf(invocation), waitSeconds });
  },
  look: async (invocation) => {
    const { env, text, flag } = invocation;
    return lookAtPage(env, { ...pageOf(invocation), out: text('out'), fullPage: flag('full-page') });
  },
  inbox: async ({ target, env, usage, text, flag }) => {
    const reply = text('reply');
    if ((reply === undefined) !== (target === '')) throw usage('A reply needs --reply MESSAGE and a text.');
    if (reply !== undefined) return replyToMessage(env, reply, target);
    return printInbox(env, { all: flag('all'), asJson: flag('json') });
  },
};

function pageOf({ target, usage, text, flag }: Invocation): PageRequest {
  return { port: portOf(target, usage), path: text('path'), device: text('device'), asJson: flag('json') };
}

/**
 * Number of arguments: `inbox` takes at most one, `ps` and `status` none, all others exactly one.
 */
function checkCount(name: CommandName, positionals: readonly string[], usage: Usage): void {
  const wanted = name === 'ps' || name === 'status' ? 0 : 1;
  if (name === 'inbox' && positionals.length <= 1) return;
  if (positionals.length < wanted) throw usage(`${name} needs ${COMMANDS[name].usage.split(' ')[1]}.`);
  if (positionals.length === wanted) return;
  const extra = positionals[wanted];
  throw usage(
    name === 'serve' ? `Put -- before the command: got ${extra}.` : `One argument too many: ${extra}.`,
  );
}

type Usage = (what: string) => CommandError;

function parse(args: readonly string[], name: CommandName, usage: Usage) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS[name], allowPositionals: true, strict: true });
  } catch (error) {
    // "Unknown option '--x'. To specify a positional …": keep only the first sentence.
    throw usage(`${(error as Error).message.split(/\. |\n/)[0]?.replace(/\.$/, '')}.`);
  }
}

function portOf(text: string, usage: Usage): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw usage(`A port is a number from 1 to 65535, got ${text}.`);
}

function count(text: string | undefined, option: string, usage: Usage): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw usage(`${option} takes a number up to 9999, got ${text}.`);
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

function seconds(text: string | undefined, usage: Usage): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit = ''] = /^(\d{1,7})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * (SECONDS[unit] ?? 1);
  throw usage(`--expires takes a time such as 30m, 12h or 7d, got ${text}.`);
}
