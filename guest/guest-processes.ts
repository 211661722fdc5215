import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import * as z from 'zod/mini';
import type { OutputKind } from './command-output.ts';
import type { GuestEvents } from './guest-event-stream.ts';
import { OutputRing } from './output-ring.ts';
import { readPlain, replacePlain } from './plain-file.ts';
import { ProcessUsage } from './process-usage.ts';
import type { CommandExit, SignalName, TerminalSize } from '../protocol/guest/exec-protocol.ts';
import {
  type ProcessExit,
  processInfo,
  type ProcessInfo,
  type ProcessRequest,
} from '../protocol/guest/processes-protocol.ts';
import { bodyOf, GuestError } from './router.ts';
import type { CommandStarter, StartedCommand } from './start-command.ts';

/** Limits for ended processes; the oldest are removed first. */
const KEPT = { processes: 100, bytes: 128 * 1024 * 1024 } as const;

const MAX_RUNNING = 512;

/** From SIGTERM to SIGKILL when time is up, in ms. */
const GRACE = 4_000;

/** Content of a process's file; its ring holds the rest. */
type Facts = Omit<ProcessInfo, 'output'>;

export function argvOf({ argv, command }: Pick<ProcessRequest, 'argv' | 'command'>): [string, ...string[]] {
  return argv ?? ['sh', '-c', command as string];
}

/** Receives a process's output, in addition to its ring. */
export type Tee = (kind: OutputKind, bytes: Buffer) => void;

/** One process and its output; it outlives the connection that started it. */
export class GuestProcess {
  readonly ring: OutputRing;
  readonly ended: Promise<ProcessExit>;
  readonly #folder: string;
  readonly #end = Promise.withResolvers<ProcessExit>();
  readonly #began = performance.now();
  #facts: Facts;
  #command: StartedCommand | undefined;
  #usage: ProcessUsage | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isTimedOut = false;
  #wasKilled = false;

  constructor(folder: string, facts: Facts, ring: OutputRing) {
    this.#folder = folder;
    this.#facts = facts;
    this.ring = ring;
    this.ended = this.#end.promise;
    if (facts.exit !== null) this.#close(facts.exit);
  }

  get info(): ProcessInfo {
    return { ...this.#facts, output: { first: this.ring.from, next: this.ring.to } };
  }

  get exit(): ProcessExit | null {
    return this.#facts.exit;
  }

  get isRunning(): boolean {
    return this.#facts.exit === null;
  }

  async run(starter: CommandStarter, request: ProcessRequest, tee?: Tee): Promise<void> {
    this.#save();
    const { cwd, stdin, tty } = request;
    const env = { ...request.sandbox_env, ...request.env };
    const started = await starter.start({ argv: argvOf(request), cwd, env, stdin, tty });
    const take = (kind: OutputKind, bytes: Buffer): boolean => {
      this.ring.append(kind, bytes);
      tee?.(kind, bytes);
      return true;
    };
    if (!('pid' in started)) {
      take('stderr', Buffer.from(`${started.reason}\n`));
      this.#finish({ code: started.code }, undefined);
      return;
    }
    this.#command = started;
    this.#facts = { ...this.#facts, pid: started.pid, last_pid: started.pid };
    this.#usage = new ProcessUsage(started.pid);
    this.#save();
    started.output.begin(take);
    if (request.timeout_ms !== undefined) this.#limit(request.timeout_ms);
    void Promise.all([started.exited, started.ticks]).then(([exit, ticks]) =>
      started.output.drain(() => this.#finish(exit, ticks)),
    );
  }

  /** Signals the whole group; does nothing after the exit. */
  signal(name: SignalName): void {
    if (name === 'SIGKILL') this.#wasKilled = true;
    this.#command?.signal(name);
  }

  /** @throws GuestError `invalid_request` without a terminal */
  resize(size: TerminalSize): void {
    if (this.#facts.tty === null) throw new GuestError('invalid_request', 'The process has no terminal.');
    if (!this.isRunning) return;
    this.#facts = { ...this.#facts, tty: size };
    this.#command?.resize(size);
  }

  /**
   * Resolves once the bytes are in the pipe. @throws GuestError `process_exited`, `invalid_request`
   */
  async input(body: IncomingMessage, eof: boolean): Promise<number> {
    this.#input();
    let length = 0;
    for await (const chunk of bodyOf(body)) {
      const input = this.#input();
      const taken = new Promise<number>((resolve) => input.write(chunk, () => resolve(chunk.length)));
      length += await Promise.race([taken, this.ended.then(() => 0)]);
    }
    // The input may have ended the process.
    if (length === 0 || this.exit === null) {
      const input = this.#input();
      if (eof) input.end();
    }
    return length;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #input() {
    if (this.exit !== null) {
      throw new GuestError('process_exited', `Process ${this.#facts.id} has exited.`, { exit: this.exit });
    }
    const input = this.#command?.input;
    if (input === undefined) {
      throw new GuestError('invalid_request', 'The process takes no input. Start it with stdin: true.');
    }
    return input;
  }

  #limit(timeout: number): void {
    this.#timer = setTimeout(() => {
      this.#isTimedOut = true;
      this.#command?.signal('SIGTERM');
      this.#timer = setTimeout(() => this.#command?.signal('SIGKILL'), GRACE);
    }, timeout);
  }

  #finish(exit: CommandExit, ticks: number | undefined): void {
    clearTimeout(this.#timer);
    // Its background processes continue; their output is dropped.
    this.#command?.output.discard();
    const usage = this.#usage?.finish(ticks);
    const signal = 'signal' in exit ? exit.signal : null;
    const isMemory = signal === 'SIGKILL' && !this.#wasKilled && usage?.ranOutOfMemory === true;
    this.#close({
      code: 'code' in exit ? exit.code : null,
      signal,
      reason: this.#isTimedOut
        ? 'timed_out'
        : isMemory
          ? 'out_of_memory'
          : signal === null
            ? 'exited'
            : 'killed',
      at: new Date().toISOString(),
      duration_ms: Math.round(performance.now() - this.#began),
      cpu_ms: usage?.cpuMs ?? null,
      peak_memory_bytes: usage?.peakMemoryBytes ?? null,
    });
    this.#save();
  }

  #close(exit: ProcessExit): void {
    this.#facts = { ...this.#facts, state: 'exited', pid: null, exit };
    this.ring.close();
    this.#end.resolve(exit);
  }

  /** Never fails a process: without disk space for its file it is forgotten when the guest ends. */
  #save(): void {
    try {
      replacePlain(join(this.#folder, FILE), JSON.stringify(this.#facts));
    } catch {
      // No disk space, or the sandbox's code has removed the folder.
    }
  }
}

const FILE = 'process.json';
/** An argv has 2 MiB at most, before JSON escapes. */
const MAX_FACTS_BYTES = 16 * 1024 * 1024;
/** Running processes, ended processes, and the file beside them. */
const MAX_FOUND = MAX_RUNNING + KEPT.processes + 1;
const EXPIRED = 'expired';
const facts = z.omit(processInfo, { output: true });

/** All processes of the guest, and ended processes of earlier guests. */
export class Processes {
  readonly #folder: string;
  readonly #starter: CommandStarter;
  readonly #events: GuestEvents;
  readonly #all = new Map<string, GuestProcess>();

  constructor(folder: string, starter: CommandStarter, events: GuestEvents) {
    this.#folder = folder;
    this.#starter = starter;
    this.#events = events;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#recover();
  }

  /** @throws GuestError `too_many` */
  async start(request: ProcessRequest, tee?: Tee): Promise<GuestProcess> {
    const running = [...this.#all.values()].filter(({ isRunning }) => isRunning).length;
    if (running >= MAX_RUNNING) {
      throw new GuestError('too_many', `${running} processes run, the maximum. End some of them.`);
    }
    // Sorts by start time.
    const id = `${Date.now().toString(36)}${randomBytes(6).toString('hex')}`;
    const folder = join(this.#folder, id);
    const started = new GuestProcess(
      folder,
      {
        id,
        name: request.name ?? null,
        argv: argvOf(request),
        cwd: request.cwd ?? '/workspace',
        state: 'running',
        pid: null,
        last_pid: null,
        stdin: request.stdin === true || request.tty !== undefined,
        tty: request.tty ?? null,
        timeout_ms: request.timeout_ms ?? null,
        started_by: request.started_by ?? { kind: 'sandbox', id: null },
        started_at: new Date().toISOString(),
        exit: null,
      },
      new OutputRing(folder, request.output_bytes),
    );
    this.#all.set(id, started);
    const { started_at: at } = started.info;
    this.#events.publish({ name: 'process_started', data: { ...announced(started), at } });
    void started.ended.then((exit) => this.#ended(started, exit));
    await started.run(this.#starter, request, tee);
    return started;
  }

  /** @throws GuestError `not_found` that lists what exists */
  get(id: string): GuestProcess {
    const found = this.#all.get(id);
    if (found !== undefined) return found;
    const existing = this.list().map((process) => process.id);
    throw new GuestError('not_found', `Process ${id.slice(0, 64)}: not found. List the processes.`, {
      existing: existing.slice(0, 100),
    });
  }

  /** The running process that leads that process group. */
  byGroup(group: number): GuestProcess | undefined {
    return [...this.#all.values()].find(({ info }) => info.pid === group);
  }

  /** The newest first. */
  list(): ProcessInfo[] {
    return [...this.#all.values()].map(({ info }) => info).toReversed();
  }

  /** Ends the process and removes it with its output. */
  async remove(id: string): Promise<void> {
    const process = this.get(id);
    process.signal('SIGKILL');
    await process.ended;
    this.#all.delete(id);
    process.remove();
  }

  /**
   * The sandbox is stopped at its end of life: running processes get that exit reason. Stored for
   * the next guest.
   */
  expire(): void {
    replacePlain(join(this.#folder, EXPIRED), '');
  }

  #ended(process: GuestProcess, exit: ProcessExit): void {
    this.#events.publish({ name: 'process', data: { ...announced(process), exit } });
    this.#prune();
  }

  #prune(): void {
    const ended = [...this.#all.values()].filter(({ isRunning }) => !isRunning).toReversed();
    let bytes = 0;
    for (const [index, process] of ended.entries()) {
      bytes += process.ring.bytes;
      if (index < KEPT.processes && bytes <= KEPT.bytes) continue;
      this.#all.delete(process.info.id);
      process.remove();
    }
  }

  /** Processes of an earlier guest ended with it. */
  #recover(): void {
    const reason = existsSync(join(this.#folder, EXPIRED)) ? 'expired' : 'sandbox_stopped';
    // A guest leaves no more entries than that.
    for (const id of readdirSync(this.#folder).toSorted().slice(-MAX_FOUND)) {
      const folder = join(this.#folder, id);
      try {
        const file = join(folder, FILE);
        const known = z.parse(facts, JSON.parse(readPlain(file, MAX_FACTS_BYTES).toString()));
        if (known.id !== id) throw new Error('another id');
        const exit = known.exit ?? stoppedExit(known, lastChange(folder), reason);
        this.#all.set(id, new GuestProcess(folder, { ...known, exit }, new OutputRing(folder)));
      } catch {
        // Not a process, or its file is incomplete.
        rmSync(folder, { recursive: true, force: true });
      }
    }
    this.#prune();
  }
}

/** Fields of a process in events. */
function announced({ info: { id, name, argv, started_by } }: GuestProcess) {
  return { id, name, command: argv.join(' ').slice(0, 200), started_by };
}

/** Last change of a process, in ms. */
function lastChange(folder: string): number {
  return Math.max(...readdirSync(folder).map((name) => statSync(join(folder, name)).mtimeMs));
}

function stoppedExit({ started_at }: Facts, at: number, reason: ProcessExit['reason']): ProcessExit {
  return {
    code: null,
    signal: null,
    reason,
    at: new Date(at).toISOString(),
    duration_ms: Math.max(0, Math.round(at - Date.parse(started_at))),
    cpu_ms: null,
    peak_memory_bytes: null,
  };
}
