import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, closeSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { CommandOutput } from './command-output.ts';
import { replacePlain } from './plain-file.ts';
import { expendable, Groups, signalGroup } from './protect-guest.ts';
import { ChildTimes, memoryLimit } from './process-usage.ts';
import type { CommandExit, ExecRequest, TerminalSize } from '../protocol/guest/exec-protocol.ts';
import { AUTHORITY_VARIABLE, CERTIFICATE_VARIABLES, NETWORK } from '../protocol/guest/network.ts';
import { openFolder } from '../base/open-folder.ts';
import { type GuestSettings, locate } from '../protocol/guest/settings-protocol.ts';
import { discardPipe, openInputPipe, openOutputPipes, spawnProgram } from './spawn-program.ts';

/** Destination of a command's input. */
export interface CommandInput {
  /** Calls `taken` once the bytes are in the command's pipe or terminal, or never will be. */
  write(bytes: Buffer, taken: () => void): unknown;
  end(): unknown;
}

/** A command in its own session and process group. */
export interface StartedCommand {
  readonly pid: number;
  readonly output: CommandOutput;
  readonly input: CommandInput | undefined;
  /** Resolves at the exit; output may still arrive. Never rejects. */
  readonly exited: Promise<CommandExit>;
  /** Ticks of CPU time; settles directly after `exited`. Undefined if unknown. */
  readonly ticks: Promise<number | undefined>;
  /** Signals the whole group; does nothing after the exit. */
  signal(name: NodeJS.Signals): void;
  /** Does nothing without a terminal. */
  resize(size: TerminalSize): void;
}

/** A shell's exit code for a program that cannot be started: 127 not found, 126 not executable. */
export interface RefusedCommand {
  readonly code: 126 | 127;
  readonly reason: string;
}

type Starting = StartedCommand | RefusedCommand | Promise<StartedCommand | RefusedCommand>;

/** A command with a resolved program. */
export interface PreparedCommand {
  readonly file: string;
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: boolean;
}

/** Starts commands as the sandbox's user. */
export class CommandStarter {
  readonly #times = new ChildTimes();
  readonly #settings: GuestSettings;
  readonly #groups = new Groups();
  readonly #trusted: ReturnType<typeof trustedEnvironment>;

  constructor(settings: GuestSettings) {
    this.#settings = settings;
    this.#trusted = trustedEnvironment(settings.network === true ? settings.state : undefined);
  }

  /**
   * Usually starts synchronously; only a terminal, or a failure of the system, takes longer. Never
   * rejects.
   */
  start(request: ExecRequest): Starting {
    const { workspace, env, pty } = this.#settings;
    openFolder(workspace);
    const cwd = locate(this.#settings, request.cwd ?? '/workspace');
    const merged = this.#trusted({ ...env, ...request.env });
    if (request.tty !== undefined && pty === undefined) {
      return { code: 126, reason: 'no terminals: node-pty is not installed for this platform' };
    }
    const found = findProgram(request.argv[0], merged['PATH'] ?? '', cwd);
    if ('code' in found) return found;
    const argv = request.script === undefined ? request.argv : scriptCommand(request.argv);
    const prepared = { file: found.file, argv, cwd, env: merged, stdin: request.stdin ?? false };
    if (request.tty !== undefined) return this.#startTerminal(prepared, request.tty, pty as string);
    const started = startPiped(prepared, this.#times);
    if ('pid' in started && workspace !== '/workspace') this.#groups.add(started.pid);
    return started;
  }

  /** In MiB; undefined if it is not known. */
  get memoryLimit(): number | undefined {
    return memoryLimit() ?? this.#settings.memoryMb;
  }

  /** Kills every command, if no pid namespace does at the guest's end. */
  endAll(): void {
    this.#groups.end();
  }

  async #startTerminal(
    command: PreparedCommand,
    size: TerminalSize,
    pty: string,
  ): Promise<StartedCommand | RefusedCommand> {
    // Loaded with the first terminal.
    const { startTerminal } = await import('./guest-terminal.ts');
    try {
      const started = expendable(() => startTerminal(command, size, pty, this.#times));
      if (this.#settings.workspace !== '/workspace') this.#groups.add(started.pid);
      return started;
    } catch (error) {
      return refusal(command, error as Error);
    }
  }
}

/** Limits of execve(2): of one text, and of all of them with the default size of the stack. */
const TOO_LONG =
  'the command is too long. One argument or variable has at most 131071 bytes, and all of them at most 2 MiB. Write what is long to a file and name the file, or pass it through stdin';

function refusal({ argv: [name] }: PreparedCommand, error: NodeJS.ErrnoException): RefusedCommand {
  return { code: 126, reason: `${name}: ${error.code === 'E2BIG' ? TOO_LONG : error.message}` };
}

/** Without pipes output uses sockets, which programs cannot open a second time. */
function startPiped(command: PreparedCommand, times: ChildTimes): Starting {
  const pipes = openOutputPipes();
  const { promise: exited, resolve: exits } = Promise.withResolvers<CommandExit>();
  let running = true;
  const ended = (exit: CommandExit): void => {
    running = false;
    exits(exit);
  };
  const startedAs = (
    pid: number,
    stdout: Readable | number,
    stderr: Readable | number,
    stdin?: Writable,
  ): StartedCommand => ({
    pid,
    output: new CommandOutput([
      ['stdout', stdout],
      ['stderr', stderr],
    ]),
    input: stdin,
    exited,
    ticks: exited.then(() => times.ended()),
    signal: (name) => {
      if (running) signalGroup(pid, name);
    },
    resize: () => {},
  });
  const [out, err] = pipes ?? [];
  const into = command.stdin && pipes !== undefined ? openInputPipe() : undefined;
  if (out !== undefined && err !== undefined && (!command.stdin || into !== undefined)) {
    const stdin = into && inputOf(into.ours);
    const ends = { stdout: out.theirs, stderr: err.theirs, ...(into && { stdin: into.theirs }) };
    const pid = expendable(() =>
      spawnProgram(command, ends, (exit) => {
        stdin?.destroy();
        ended(exit);
      }),
    );
    if (into !== undefined) closeSync(into.theirs);
    if (pid !== undefined) {
      closeSync(out.theirs);
      closeSync(err.theirs);
      return startedAs(pid, out.ours, err.ours, stdin);
    }
    stdin?.destroy();
  }
  let child: ChildProcess;
  try {
    child = expendable(() =>
      spawn(command.file, command.argv.slice(1), {
        argv0: command.argv[0],
        cwd: command.cwd,
        env: command.env,
        detached: true,
        stdio: [command.stdin ? 'pipe' : 'ignore', out?.theirs ?? 'pipe', err?.theirs ?? 'pipe'],
      }),
    );
  } catch (error) {
    // Node throws some system errors, and reports others by an event.
    for (const pipe of pipes ?? []) discardPipe(pipe);
    return refusal(command, error as Error);
  }
  const { pid } = child;
  if (pid === undefined) {
    for (const pipe of pipes ?? []) discardPipe(pipe);
    return new Promise((resolve) => {
      child.once('error', (error) => resolve(refusal(command, error)));
    });
  }
  child.on('error', () => {});
  for (const pipe of pipes ?? []) closeSync(pipe.theirs);
  child.once('exit', (code, signal) => ended(signal === null ? { code: code ?? 0 } : { signal }));
  const stdin = child.stdin ?? undefined;
  stdin?.on('error', ignoreUnread);
  const stdout = out?.ours ?? child.stdout;
  const stderr = err?.ours ?? child.stderr;
  if (stdout === null || stderr === null) throw new Error('a command without output');
  return startedAs(pid, stdout, stderr, stdin);
}

/** A command that exits without reading all its input is not an error. */
const ignoreUnread = (): void => {};

function inputOf(pipe: number): Writable {
  const stdin = new Socket({ fd: pipe, readable: false, writable: true });
  stdin.on('error', ignoreUnread);
  return stdin;
}

/**
 * Finds a program as execvp(3) would, from `cwd` and on `path`, so that pipes and terminals fail
 * alike.
 */
export function findProgram(
  name: string,
  path: string,
  cwd: string,
): { readonly file: string } | RefusedCommand {
  try {
    if (!statSync(cwd).isDirectory()) return { code: 126, reason: `${cwd}: not a directory` };
    accessSync(cwd, constants.X_OK);
  } catch {
    return { code: 126, reason: `${cwd}: no such directory, or it cannot be entered` };
  }
  const candidates = name.includes('/')
    ? [name.startsWith('/') ? name : join(cwd, name)]
    : path.split(':').map((folder) => join(folder === '' ? cwd : folder, name));
  let exists = false;
  for (const file of candidates) {
    try {
      const found = statSync(file, { throwIfNoEntry: false });
      if (found === undefined) continue;
      exists = true;
      if (!found.isFile()) continue;
      accessSync(file, constants.X_OK);
      return { file };
    } catch {
      // Not accessible: try the next folder.
    }
  }
  return exists && name !== ''
    ? { code: 126, reason: `${name}: not executable` }
    : { code: 127, reason: `${name}: not found` };
}

let sessions: string | undefined;

/**
 * The command of a shell that runs `sessions.bash` with these arguments. The text is an argument:
 * as a file it would stay open in commands, and be named in the messages of bash.
 */
function scriptCommand([shell, ...args]: readonly [string, ...string[]]): [string, ...string[]] {
  sessions ??= readFileSync(join(import.meta.dirname, 'sessions.bash'), 'utf8').replace(
    /^ *(?:#.*)?\n/gm,
    '',
  );
  return [shell, '-c', sessions, shell, ...args];
}

type Environment = Readonly<Record<string, string>>;

/**
 * The environment of a command without the certificate of its sandbox's authority, and with the
 * path of a file of all authorities that its tools trust. A pod, which has no folder of a host,
 * writes that file; elsewhere the host does.
 * @param state the guest's folder; undefined where the host writes the file
 */
function trustedEnvironment(state: string | undefined): (env: Environment) => Environment {
  const file = state && join(state, NETWORK.certificatesName);
  let written: string | undefined;
  return (env) => {
    const { [AUTHORITY_VARIABLE]: authority, ...rest } = env;
    if (authority === undefined) return env;
    if (file === undefined) return rest;
    if (written !== authority || !existsSync(file)) {
      // Loaded with the first secret.
      const { getCACertificates } = process.getBuiltinModule('node:tls');
      const all = new Set([...getCACertificates('default'), ...getCACertificates('system'), authority]);
      try {
        // A tool that starts now must not read half of it.
        replacePlain(file, [...all].map((each) => `${each.trim()}\n`).join(''));
        written = authority;
      } catch (error) {
        process.stderr.write(`porthole-guest: no certificates: ${(error as Error).message}\n`);
      }
    }
    const named = CERTIFICATE_VARIABLES.filter((name) => rest[name] === NETWORK.certificates);
    return { ...rest, ...Object.fromEntries(named.map((name) => [name, file])) };
  };
}
