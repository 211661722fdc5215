import type { Content, HttpClient } from '../http/http-client.ts';
import { PortholeError } from '../http/porthole-error.ts';
import type { CallOptions } from './files.ts';
import { type OutputEvent, type OutputOptions, readOutput } from './output.ts';
import type { ProcessExit, ProcessInfo, TerminalSize } from './process-info.ts';

/** What to run: arguments without a shell, or a line for the sandbox's shell. */
export type Runnable = readonly [string, ...string[]] | string;

export interface StartOptions extends CallOptions {
  /** Within /workspace, the default. */
  readonly cwd?: string | undefined;
  /** Added to the sandbox's own variables. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** For people; need not be unique. */
  readonly name?: string | undefined;
  /** Whether it accepts input. A terminal always does. */
  readonly stdin?: boolean | undefined;
  readonly tty?: TerminalSize | undefined;
  /** SIGTERM after this time, SIGKILL 4 s later. Without it there is no limit. */
  readonly timeoutMs?: number | undefined;
  /** Bytes of output kept, both streams together. @default 4 MiB */
  readonly outputBytes?: number | undefined;
}

export interface WaitOptions extends CallOptions {
  /** Throws `wait_timed_out` after this time. Without it there is no limit. */
  readonly timeoutMs?: number | undefined;
}

/** Longest wait of one call, in milliseconds: below the timeouts of proxies. */
const WAIT_MS = 60_000;
/** Extra time for the response, beyond the wait itself, in milliseconds. */
const ANSWER_MS = 15_000;

/** The request field for it: `argv` or `command`. */
export function runnableOf(what: Runnable): object {
  return typeof what === 'string' ? { command: what } : { argv: what };
}

/** For calls that accept only arguments. */
export function wordsOf(what: Runnable | readonly string[]): readonly string[] {
  return typeof what === 'string' ? ['sh', '-c', what] : what;
}

/** A process that outlives the connection that started it. */
export class Process {
  readonly id: string;
  readonly #http: HttpClient;
  readonly #path: string;
  #info: ProcessInfo;

  constructor(http: HttpClient, processesPath: string, info: ProcessInfo) {
    this.id = info.id;
    this.#http = http;
    this.#path = `${processesPath}/${encodeURIComponent(info.id)}`;
    this.#info = info;
  }

  /** The API's last response about it. */
  get info(): ProcessInfo {
    return this.#info;
  }

  async refresh({ signal }: CallOptions = {}): Promise<ProcessInfo> {
    this.#info = await this.#http.json<ProcessInfo>(`GET ${this.#path}`, { signal });
    return this.#info;
  }

  /** Its output, until its exit. Reconnects after a lost connection. */
  async *output(options: OutputOptions = {}): AsyncGenerator<OutputEvent, void> {
    for await (const event of readOutput(this.#http, `${this.#path}/output`, {}, options)) {
      yield event;
      if (event.type === 'exit') return;
    }
  }

  /** Resolves once the bytes are in its pipe. @throws PortholeError `process_exited` */
  async input(
    content: Content,
    { eof, signal }: CallOptions & { readonly eof?: boolean | undefined } = {},
  ): Promise<void> {
    await this.#http.done(`POST ${this.#path}/input`, {
      query: { eof: eof === true ? true : undefined },
      content,
      timeoutMs: 0,
      signal,
    });
  }

  /** Signals its whole process group; does nothing after its exit. */
  signal(name = 'SIGTERM', options?: CallOptions): Promise<ProcessInfo> {
    return this.#post('signal', { signal: name }, options);
  }

  resize(size: TerminalSize, options?: CallOptions): Promise<ProcessInfo> {
    return this.#post('resize', size, options);
  }

  /** Its exit. @throws PortholeError `wait_timed_out` */
  async wait({ timeoutMs = Infinity, signal }: WaitOptions = {}): Promise<ProcessExit> {
    const until = Date.now() + timeoutMs;
    for (;;) {
      const left = Math.max(0, Math.min(WAIT_MS, until - Date.now()));
      try {
        const { exit } = await this.#post(
          'wait',
          { timeout_ms: Math.ceil(left) },
          { signal },
          left + ANSWER_MS,
        );
        if (exit !== null) return exit;
      } catch (error) {
        const isLate = error instanceof PortholeError && error.code === 'wait_timed_out';
        if (!isLate || Date.now() >= until) throw error;
      }
    }
  }

  /** Kills it if it runs, and removes its output. */
  remove(options?: CallOptions): Promise<void> {
    return this.#http.done(`DELETE ${this.#path}`, options);
  }

  async #post(
    what: string,
    json: object,
    { signal }: CallOptions = {},
    timeoutMs?: number,
  ): Promise<ProcessInfo> {
    this.#info = await this.#http.json<ProcessInfo>(`POST ${this.#path}/${what}`, {
      json,
      signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    return this.#info;
  }
}

/** The processes of a sandbox that outlive their connections. */
export class Processes {
  readonly #http: HttpClient;
  readonly #path: string;

  constructor(http: HttpClient, sandboxPath: string) {
    this.#http = http;
    this.#path = `${sandboxPath}/processes`;
  }

  /** A program that cannot be started becomes a process that exited with 126 or 127. */
  async start(what: Runnable, options: StartOptions = {}): Promise<Process> {
    const { cwd, env, name, stdin, tty, timeoutMs, outputBytes, signal } = options;
    const info = await this.#http.json<ProcessInfo>(`POST ${this.#path}`, {
      json: {
        ...runnableOf(what),
        cwd,
        env,
        name,
        stdin,
        tty,
        timeout_ms: timeoutMs,
        output_bytes: outputBytes,
      },
      signal,
    });
    return new Process(this.#http, this.#path, info);
  }

  /** The running ones and the last 100 that exited, newest first. */
  async list({ signal }: CallOptions = {}): Promise<readonly Process[]> {
    const all = await this.#http.list<ProcessInfo>('processes', `GET ${this.#path}`, { signal });
    return all.map((info) => new Process(this.#http, this.#path, info));
  }

  /** @throws PortholeError `process_not_found` */
  async get(id: string, { signal }: CallOptions = {}): Promise<Process> {
    const path = `${this.#path}/${encodeURIComponent(id)}`;
    return new Process(this.#http, this.#path, await this.#http.json<ProcessInfo>(`GET ${path}`, { signal }));
  }
}
