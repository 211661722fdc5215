import { parseObject } from '../http/parse-object.ts';
import { invalidAnswer, type PortholeError } from '../http/porthole-error.ts';
import { concatBytes } from '../streams/byte-streams.ts';
import { decodeText } from '../streams/decode-text.ts';
import { fromBase64 } from '../streams/from-base64.ts';
import { readEvents } from '../streams/read-events.ts';
import type { ServerSentEvent } from '../streams/sse-parser.ts';

/** Output of a command, or, as the last event, its exit. */
export type CommandEvent =
  | { readonly type: 'stdout' | 'stderr'; readonly data: Uint8Array }
  | { readonly type: 'exit'; readonly exitCode: number };

export interface ExecOptions {
  /** Within /workspace, the default. */
  readonly cwd?: string | undefined;
  /** Timeout in milliseconds, after which the command is killed. Without it there is no limit. */
  readonly timeoutMs?: number | undefined;
  /** Id of a session. The command uses and changes its working directory and environment. */
  readonly session?: string | undefined;
  /** Ends the command. */
  readonly signal?: AbortSignal | undefined;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether output beyond the limit was dropped. */
  readonly truncated: boolean;
}

export interface CollectOptions {
  /** Bytes kept of each stream; the rest is read and dropped. @default 16 MiB */
  readonly maxBytes?: number | undefined;
}

const MAX_BYTES = 16_777_216;

/** A nonzero exit, for callers that want only the output. */
export class CommandFailed extends Error {
  readonly result: CommandResult;

  constructor(program: string, result: CommandResult) {
    const said = result.stderr.trim().split('\n').at(-1)?.slice(0, 200) ?? '';
    super(`${program} ended with code ${result.exitCode}${said === '' ? '.' : `: ${said}`}`);
    this.name = 'CommandFailed';
    this.result = result;
  }
}

/**
 * A running command. Read it once: iterate for its output as it arrives and its exit at the end, or
 * call `collect` or `text`. Leaving the iteration early ends the command; a slow reader makes it
 * wait (back-pressure).
 */
export class Command implements AsyncIterable<CommandEvent> {
  readonly #program: string;
  readonly #response: Promise<Response>;
  readonly #signal: AbortSignal | undefined;
  #isRead = false;

  /**
   * @param program for error messages, which omit the arguments because these may contain secrets
   */
  constructor(program: string, response: Promise<Response>, signal?: AbortSignal) {
    this.#program = program;
    this.#response = response;
    this.#signal = signal;
    // Reported to the reader.
    response.catch(() => undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<CommandEvent, void> {
    if (this.#isRead) throw new TypeError('The output of a command can be read once: run it again.');
    this.#isRead = true;
    let isOver = false;
    for await (const event of readEvents(await this.#response, { signal: this.#signal })) {
      if (isOver) throw broken('something follows its end');
      const parsed = read(event);
      isOver = parsed.type === 'exit';
      yield parsed;
    }
    if (!isOver) throw broken('it does not say how the command ended');
  }

  /** All of it, whatever the exit code. */
  async collect({ maxBytes = MAX_BYTES }: CollectOptions = {}): Promise<CommandResult> {
    const kept = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
    const room = { stdout: maxBytes, stderr: maxBytes };
    let exitCode = -1;
    const isCut = { stdout: false, stderr: false };
    for await (const event of this) {
      if (event.type === 'exit') exitCode = event.exitCode;
      else {
        const taken = event.data.subarray(0, room[event.type]);
        if (taken.length < event.data.length) isCut[event.type] = true;
        room[event.type] -= taken.length;
        kept[event.type].push(taken);
      }
    }
    const text = (stream: 'stdout' | 'stderr') => decodeText(concatBytes(kept[stream]), isCut[stream]);
    const truncated = isCut.stdout || isCut.stderr;
    return { exitCode, stdout: text('stdout'), stderr: text('stderr'), truncated };
  }

  /**
   * Its stdout.
   * @throws CommandFailed on a nonzero exit
   */
  async text(options?: CollectOptions): Promise<string> {
    const result = await this.collect(options);
    if (result.exitCode !== 0) throw new CommandFailed(this.#program, result);
    return result.stdout;
  }
}

function read({ event, data }: ServerSentEvent): CommandEvent {
  if (event === 'stdout' || event === 'stderr') {
    try {
      return { type: event, data: fromBase64(data) };
    } catch (cause) {
      throw broken('its output is not base64', cause);
    }
  }
  const fields = parseObject(data);
  if (event === 'exit') {
    const exitCode = fields['exit_code'];
    if (typeof exitCode === 'number' && Number.isInteger(exitCode)) return { type: 'exit', exitCode };
  }
  throw broken(`it has an event that is none: ${JSON.stringify(event.slice(0, 40))}`);
}

function broken(why: string, cause?: unknown): PortholeError {
  return invalidAnswer(`The output of a command cannot be read: ${why}. Run it again.`, cause);
}
