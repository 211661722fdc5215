import { rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod/mini';
import { connectLoopback } from './dial.ts';
import type { GuestEvents } from './guest-event-stream.ts';
import { OutputRing } from './output-ring.ts';
import { readPlain, replacePlain } from './plain-file.ts';
import { argvOf, type GuestProcess, type Processes } from './guest-processes.ts';
import { SERVERS_FILE } from './prepare-workspace.ts';
import { environment } from '../protocol/guest/exec-protocol.ts';
import { instant, type ProcessExit } from '../protocol/guest/processes-protocol.ts';
import {
  serverName,
  type ServerInfo,
  serverRequest,
  type ServerRequest,
} from '../protocol/guest/servers-protocol.ts';
import { GuestError } from './router.ts';

const MAX_SERVERS = 200;

/** Bytes of a file that is read at the start; 200 servers with long commands need less. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Delay before a restart, in ms: doubles after each quick exit, up to the longest. */
const DELAY = { first: 500, longest: 30_000 } as const;

/** Run time in ms after which an exit no longer counts as a failed start. */
const STABLE = 60_000;

const READY_WITHIN = 60_000;
const ASK_EVERY = 100;
const ASK_PATIENCE = 2_000;

/** From SIGTERM to SIGKILL, in ms. */
const GRACE = 5_000;

const stored = z.object({
  declaration: serverRequest,
  declared_at: instant,
  /** Stopped by a request: not started with the guest. */
  stopped: z.boolean(),
});
type Stored = z.infer<typeof stored>;
const file = z.object({ servers: z.record(serverName, z.unknown()) });

type State = ServerInfo['state'];

/** One declared server: its process, and its restarts. */
class DeclaredServer {
  readonly name: string;
  /** As it is stored. */
  readonly entry: Stored;
  readonly ring: OutputRing;
  readonly #processes: Processes;
  readonly #publish: (server: DeclaredServer) => void;
  /** The sandbox's environment. Never part of the declaration, which is in the workspace. */
  environment: Readonly<Record<string, string>> = {};
  state: State = 'stopped';
  stateAt = new Date().toISOString();
  reason: string | null = null;
  process: GuestProcess | undefined;
  #restarts = 0;
  #readyAt: string | null = null;
  #exit: ProcessExit | null = null;
  #delay: number = DELAY.first;
  #retry: NodeJS.Timeout | undefined;
  /** Incremented by every start and stop: callbacks of an earlier start have no effect. */
  #turn = 0;

  constructor(
    name: string,
    entry: Stored,
    folder: string,
    processes: Processes,
    publish: (server: DeclaredServer) => void,
  ) {
    this.name = name;
    this.entry = entry;
    this.ring = new OutputRing(folder);
    this.#processes = processes;
    this.#publish = publish;
  }

  get info(): ServerInfo {
    const { declaration, declared_at } = this.entry;
    const info = this.process?.info;
    return {
      name: this.name,
      argv: argvOf(declaration),
      cwd: declaration.cwd ?? '/workspace',
      port: declaration.port ?? null,
      restart: declaration.restart ?? 'on-failure',
      readiness: declaration.readiness ?? null,
      state: this.state,
      reason: this.reason,
      process_id: info?.id ?? null,
      pid: info?.pid ?? null,
      restarts: this.#restarts,
      started_by: declaration.started_by ?? { kind: 'sandbox', id: null },
      declared_at,
      started_at: info?.started_at ?? null,
      ready_at: this.#readyAt,
      exit: this.#exit,
    };
  }

  /** Starts the server unless it runs. */
  async start(): Promise<void> {
    if (this.process?.isRunning === true) return;
    this.#restarts = 0;
    this.#delay = DELAY.first;
    await this.#run();
  }

  /** Ends it; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#turn += 1;
    clearTimeout(this.#retry);
    const { process } = this;
    if (process?.isRunning === true) {
      process.signal('SIGTERM');
      const late = setTimeout(() => process.signal('SIGKILL'), GRACE);
      this.#ended(await process.ended);
      clearTimeout(late);
    }
    this.#become('stopped');
  }

  async #run(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    clearTimeout(this.#retry);
    this.#readyAt = null;
    this.#become('starting');
    const { declaration } = this.entry;
    const { cwd, port, readiness } = declaration;
    const isSeen = readiness?.log === undefined ? undefined : lineFinder(readiness.log);
    const seen = Promise.withResolvers<void>();
    let process: GuestProcess;
    try {
      process = await this.#processes.start(
        {
          argv: argvOf(declaration),
          name: this.name,
          sandbox_env: this.environment,
          env: { ...(port !== undefined && { PORT: String(port) }), ...declaration.env },
          started_by: { kind: 'server', id: this.name },
          cwd,
        },
        (kind, bytes) => {
          this.ring.append(kind, bytes);
          if (isSeen?.(bytes) === true) seen.resolve();
        },
      );
    } catch (error) {
      this.#become('failed', (error as Error).message);
      return;
    }
    this.process = process;
    // Stopped during the start.
    if (turn !== this.#turn) process.signal('SIGKILL');
    const over = (exit: ProcessExit): void => {
      if (turn === this.#turn) this.#over(process, exit);
    };
    void process.ended.then(over);
    const isCurrent = (): boolean => turn === this.#turn && process.isRunning;
    const ready = isSeen === undefined ? this.#answers(isCurrent) : seen.promise;
    void this.#followStart(ready, process, isCurrent);
  }

  async #followStart(ready: Promise<void>, process: GuestProcess, isCurrent: () => boolean): Promise<void> {
    const patience = this.entry.declaration.readiness?.timeout_ms ?? READY_WITHIN;
    const late = setTimeout(() => {
      if (isCurrent()) this.#become('failed', `not ready within ${patience} ms`);
    }, patience);
    await Promise.race([ready, process.ended]);
    clearTimeout(late);
    if (!isCurrent()) return;
    this.#readyAt = new Date().toISOString();
    this.#become('ready');
  }

  /** Resolves once the port, or the path, answers; never if the server has ended meanwhile. */
  async #answers(isCurrent: () => boolean): Promise<void> {
    const { port, readiness } = this.entry.declaration;
    if (port === undefined) return;
    while (isCurrent()) {
      if (readiness?.http === undefined ? await accepts(port) : await serves(port, readiness.http)) return;
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY).unref());
    }
    await new Promise(() => {});
  }

  #ended(exit: ProcessExit): void {
    this.#exit = exit;
    this.ring.append('exit', Buffer.from(JSON.stringify(exit)));
  }

  /** The process has exited by itself. */
  #over(process: GuestProcess, exit: ProcessExit): void {
    this.#ended(exit);
    const { restart = 'on-failure' } = this.entry.declaration;
    const reason = `ended with ${exit.signal ?? `code ${exit.code}`} (${causeOf(process, exit)})`;
    const isFailure = exit.code !== 0;
    if (restart === 'never' || (restart === 'on-failure' && !isFailure)) {
      this.#become(isFailure ? 'failed' : 'exited', isFailure ? reason : null);
      return;
    }
    if (exit.duration_ms >= STABLE) this.#delay = DELAY.first;
    const delay = this.#delay;
    this.#delay = Math.min(DELAY.longest, delay * 2);
    this.#become('waiting', `${reason}; starts again in ${delay / 1_000} s`);
    this.#retry = setTimeout(() => {
      this.#restarts += 1;
      void this.#run();
    }, delay);
  }

  #become(state: State, reason: string | null = null): void {
    this.state = state;
    this.reason = reason === null ? null : reason.slice(0, 2_048);
    this.stateAt = new Date().toISOString();
    this.#publish(this);
  }
}

/**
 * The servers of the sandbox, stored in its workspace, so that they last as long as the workspace.
 */
export class Servers {
  readonly #file: string;
  readonly #rings: string;
  readonly #processes: Processes;
  readonly #events: GuestEvents;
  readonly #all = new Map<string, DeclaredServer>();

  /** @param workspace as the guest sees it; @param rings the folder of their output */
  constructor(workspace: string, rings: string, processes: Processes, events: GuestEvents) {
    this.#file = join(workspace, SERVERS_FILE);
    this.#rings = rings;
    this.#processes = processes;
    this.#events = events;
  }

  /** Starts the declared servers. Skips unreadable declarations: they never prevent a start. */
  startDeclared(): void {
    let known: Record<string, unknown> = {};
    try {
      known = z.parse(file, JSON.parse(readPlain(this.#file, MAX_FILE_BYTES).toString())).servers;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        process.stderr.write(`porthole-guest: ${this.#file} is ignored: ${(error as Error).message}\n`);
      }
    }
    for (const [name, value] of Object.entries(known).slice(0, MAX_SERVERS)) {
      const entry = z.safeParse(stored, value);
      if (!entry.success) continue;
      const server = this.#add(name, entry.data);
      if (!server.entry.stopped) void server.start();
    }
  }

  get(name: string): DeclaredServer {
    const found = this.#all.get(name);
    if (found !== undefined) return found;
    const existing = [...this.#all.keys()].slice(0, 100);
    const processes = this.#processes.list().filter(({ started_by }) => started_by.kind !== 'server');
    const named = (names: readonly string[]) => names.slice(0, 20).join(', ') || 'none';
    throw new GuestError(
      'not_found',
      `Server ${name.slice(0, 64)}: not found. Servers: ${named(existing)}. Processes: ${named(processes.map(({ id }) => id))}.`,
      { existing },
    );
  }

  list(): DeclaredServer[] {
    return [...this.#all.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @throws GuestError `conflict` for another declaration of the name */
  async declare(
    name: string,
    { sandbox_env, ...declaration }: ServerRequest,
  ): Promise<{ info: ServerInfo; isNew: boolean }> {
    const before = this.#all.get(name);
    if (before !== undefined && !isSame(before.entry.declaration, declaration)) {
      throw new GuestError(
        'conflict',
        `Server ${name} is declared otherwise. Delete it first, or use another name.`,
        { existing: [...this.#all.keys()].slice(0, 100) },
      );
    }
    if (before === undefined && this.#all.size >= MAX_SERVERS) {
      throw new GuestError('too_many', `${MAX_SERVERS} servers are declared, the maximum. Delete some.`);
    }
    const server =
      before ?? this.#add(name, { declaration, declared_at: new Date().toISOString(), stopped: false });
    if (sandbox_env !== undefined) this.#keepEnvironment(server, sandbox_env);
    await this.start(server);
    return { info: server.info, isNew: before === undefined };
  }

  async start(server: DeclaredServer): Promise<void> {
    server.entry.stopped = false;
    this.#save();
    await server.start();
  }

  async stop(server: DeclaredServer): Promise<void> {
    server.entry.stopped = true;
    this.#save();
    await server.stop();
  }

  async restart(server: DeclaredServer): Promise<void> {
    await server.stop();
    await this.start(server);
  }

  async remove(server: DeclaredServer): Promise<void> {
    this.#all.delete(server.name);
    this.#save();
    await server.stop();
    server.ring.close();
    rmSync(join(this.#rings, server.name), { recursive: true, force: true });
    rmSync(this.#environmentFile(server.name), { force: true });
  }

  ownerOf(processId: string): string | null {
    return [...this.#all.values()].find((one) => one.process?.info.id === processId)?.name ?? null;
  }

  #add(name: string, entry: Stored): DeclaredServer {
    const publish = ({ state, reason, stateAt: at }: DeclaredServer): void =>
      this.#events.publish({ name: 'server', data: { name, state, reason, at } });
    const server = new DeclaredServer(name, entry, join(this.#rings, name), this.#processes, publish);
    try {
      const text = readPlain(this.#environmentFile(name), MAX_FILE_BYTES);
      server.environment = z.parse(environment, JSON.parse(text.toString()));
    } catch {
      // Not stored, or the sandbox's code has changed it.
    }
    this.#all.set(name, server);
    return server;
  }

  /**
   * Stored beside the rings, not in the workspace: it may contain secrets, which no archive and no
   * file reader should get.
   */
  #keepEnvironment(server: DeclaredServer, given: Readonly<Record<string, string>>): void {
    server.environment = given;
    replacePlain(this.#environmentFile(server.name), JSON.stringify(given));
  }

  #environmentFile(name: string): string {
    return join(this.#rings, `${name}.environment.json`);
  }

  /** @throws GuestError `internal_error` if the file cannot be written to the workspace */
  #save(): void {
    const servers = Object.fromEntries(this.list().map(({ name, entry }) => [name, entry]));
    try {
      replacePlain(this.#file, `${JSON.stringify({ servers }, undefined, 2)}\n`);
    } catch (error) {
      throw new GuestError('internal_error', `.porthole/servers.json: ${(error as Error).message}.`);
    }
  }
}

/** Whether both declare the same; `started_by` is ignored. */
function isSame(...servers: readonly [ServerRequest, ServerRequest]): boolean {
  const [one, other] = servers.map((server) => ({
    ...server,
    restart: server.restart ?? 'on-failure',
    started_by: undefined,
  }));
  return isDeepStrictEqual(one, other);
}

async function accepts(port: number): Promise<boolean> {
  try {
    (await connectLoopback(port)).destroy();
    return true;
  } catch {
    return false;
  }
}

async function serves(port: number, path: string): Promise<boolean> {
  const socket = await connectLoopback(port).catch(() => undefined);
  if (socket === undefined) return false;
  return new Promise((resolve) => {
    const asked = httpRequest({
      path,
      createConnection: () => socket,
      headers: { host: `localhost:${port}` },
    });
    const done = (answer: boolean): void => {
      asked.destroy();
      resolve(answer);
    };
    asked.setTimeout(ASK_PATIENCE, () => done(false));
    asked.once('error', () => done(false));
    asked.once('response', ({ statusCode = 500 }) => done(statusCode < 400));
    asked.end();
  });
}

/** Bytes of the last output that are searched for the cause of an exit. */
const LAST_OUTPUT = 4_096;

/** What a shell, env(1) or the guest prints before exit code 127: the program does not exist. */
const NOT_FOUND = /(?:^|: )([^:\n\r\u2028\u2029]+): (?:(?:command )?not found|No such file or directory)/gm;

function causeOf({ ring }: GuestProcess, { code, reason }: ProcessExit): string {
  if (code !== 127) return reason;
  const { pieces } = ring.read(Math.max(0, ring.to - LAST_OUTPUT));
  const output = pieces.map(({ bytes }) => bytes.toString()).join('');
  const program = [...output.matchAll(NOT_FOUND)].at(-1)?.[1];
  return program === undefined ? reason : `program ${program} not found: install it, or correct the command`;
}

/** Finds a text within a line of output that arrives in pieces. */
function lineFinder(text: string): (bytes: Buffer) => boolean {
  const sought = Buffer.from(text).toString('latin1');
  let rest = '';
  let isFound = false;
  return (bytes) => {
    if (isFound) return true;
    rest += bytes.toString('latin1');
    isFound = rest.split('\n').some((line) => line.includes(sought));
    rest = rest.slice(rest.lastIndexOf('\n') + 1).slice(-16_384);
    return isFound;
  };
}
