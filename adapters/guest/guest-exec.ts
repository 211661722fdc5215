import { randomUUID } from 'node:crypto';
import { type Duplex, Readable, Writable } from 'node:stream';
import type { ExecCommand, ExecExit, ExecProcess } from '#core/sandboxes/sandbox-provider.ts';
import {
  commandExit,
  EXEC,
  type ExecRequest,
  STDIN_WINDOW,
  terminalSize,
} from '#protocol/guest/exec-protocol.ts';
import {
  type WebSocketMessage,
  WebSocketReader,
  WebSocketWriter,
} from '#protocol/guest/web-socket-protocol.ts';
import { PortholeError } from '#base/errors.ts';
import { boundedJson, type JsonLimits } from '#base/bounded-json.ts';
import { coversMemory, ownMemory } from '#base/free-buffer.ts';
import { ANSWER_WITHIN, guestFailure, turnsOf } from '#core/processes/guest-answers.ts';
import type { Pause } from '#core/processes/parse-in-turns.ts';
import { type GuestAddress, upgradeConnection } from './guest-connection.ts';

/** Read-ahead per stream, in bytes: several pieces, because pausing at each one costs more. */
const AHEAD = 256 * 1024;

/** An exit has two values. */
const EXIT: JsonLimits = { depth: 4, values: 16 };

/** Messages that are read before others may take their turn: a chunk holds up to 20,000. */
const AT_ONCE = 64;

/** Largest stdin payload of one message, in bytes. */
const PIECE = 64 * 1024;

/**
 * Starts a command in a guest. The request goes out with the handshake, so that a command costs one
 * round trip.
 * @throws PortholeError `invalid_request`, `exec_transport_error`
 */
export async function startGuestCommand(
  address: GuestAddress,
  command: ExecCommand,
  signal?: AbortSignal,
): Promise<ExecProcess> {
  checkCommand(command);
  const { argv, script, cwd, env, stdin, tty, detailId: detail_id } = command;
  const request: ExecRequest = { argv: [...argv], script, cwd, env, stdin, tty, detail_id };
  const { stream, rest } = await upgradeConnection(
    address,
    {
      path: '/v1/exec',
      headers: [
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64')}`,
      ],
      first: WRITER.text(JSON.stringify(request)),
    },
    signal,
  );
  const started = new GuestCommand(address, stream, command, signal);
  started.begin(rest);
  await started.started;
  return started;
}

/** Linux accepts 2 MB of arguments and environment together. */
const MAX_BYTES = 2 * 1024 * 1024;

/** @throws PortholeError `invalid_request` for a command that no system call accepts */
function checkCommand({ argv, cwd = '/workspace', env = {}, tty }: ExecCommand): void {
  const refuse = (what: string): never => {
    throw new PortholeError('invalid_request', what);
  };
  if (!cwd.startsWith('/')) refuse(`cwd ${cwd}: must be absolute.`);
  const texts = [...argv, cwd, ...Object.entries(env).flat()];
  if (texts.some((text) => text.includes('\0'))) {
    refuse('A zero byte in the command, its cwd or its environment: remove it.');
  }
  const wrong = Object.keys(env).find((name) => name === '' || name.includes('='));
  if (wrong !== undefined) {
    refuse(`Environment variable ${JSON.stringify(wrong)}: a name has no "=" and is not empty.`);
  }
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > MAX_BYTES) {
    refuse(
      `A command of ${bytes} bytes with its environment: at most ${MAX_BYTES}. Pass what is long through stdin or a file.`,
    );
  }
  if (tty !== undefined && !terminalSize.safeParse(tty).success) {
    refuse(`Terminal of ${tty.cols} columns and ${tty.rows} rows: both must be from 1 to 65535.`);
  }
}

const BREAKS = 'its guest breaks the protocol';
const CUT = 'the connection to the command was lost';

const WRITER = new WebSocketWriter('client');

class GuestCommand implements ExecProcess {
  readonly stdin: GuestStdin | null;
  readonly #address: GuestAddress;
  readonly #stream: Duplex;
  readonly #reader = new WebSocketReader('client');
  readonly #isTerminal: boolean;
  readonly #full = new Set<Readable>();
  readonly #signal: AbortSignal | undefined;
  readonly #exit = Promise.withResolvers<ExecExit>();
  readonly #start = Promise.withResolvers<void>();
  readonly exited: Promise<ExecExit> = this.#exit.promise;
  /** Resolves once the command runs or has exited. */
  readonly started: Promise<void> = this.#start.promise;
  readonly stdout: Readable = this.#output();
  readonly stderr: Readable = this.#output();
  readonly #late: NodeJS.Timeout;
  /** For a killed command: checks whether its guest still sends anything. */
  #dying: NodeJS.Timeout | undefined;
  #received = 0;
  #isOver = false;
  /** Whether the rest of a chunk waits for the next turn of the event loop. */
  #isHeld = false;
  /** Whether the connection was lost meanwhile. */
  #isCut = false;
  readonly #turn: Pause;
  /** Whether more than the next piece of output may refer to the memory of the chunk. */
  #isShared = false;
  #joined: (WebSocketMessage & { readonly kind: 'binary' }) | undefined;

  constructor(
    address: GuestAddress,
    stream: Duplex,
    { stdin = false, tty }: ExecCommand,
    signal: AbortSignal | undefined,
  ) {
    this.#address = address;
    this.#turn = turnsOf(address.sandboxId);
    this.#stream = stream;
    this.#isTerminal = tty !== undefined;
    this.#signal = signal;
    if (this.#isTerminal) this.stderr.push(null);
    this.stdin = stdin || this.#isTerminal ? new GuestStdin(stream) : null;
    // A caller that only reads the output sees the failure there; an unhandled rejection would end
    // the host.
    this.exited.catch(() => {});
    this.#late = setTimeout(
      () => this.#lost('its guest does not start the command'),
      address.answerWithin ?? ANSWER_WITHIN,
    );
  }

  /** @param rest bytes that followed the handshake */
  begin(rest: Buffer): void {
    const lost = (): void => {
      if (this.#isHeld) this.#isCut = true;
      else this.#lost(CUT);
    };
    this.#stream.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#stream.on('end', lost).on('close', lost);
    this.#signal?.addEventListener('abort', this.#abort);
    if (this.#signal?.aborted) return this.#abort();
    if (rest.length > 0) this.#read(rest);
    this.#resume();
  }

  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP'): void {
    this.#send(EXEC.signal, signal);
    if (signal === 'SIGKILL' && !this.#isOver) this.#expectExit();
  }

  resize(cols: number, rows: number): void {
    const within = (size: number): number => Math.min(Math.max(Math.trunc(size), 1), 65_535);
    this.#send(EXEC.resize, JSON.stringify({ cols: within(cols), rows: within(rows) }));
  }

  /** Code in the sandbox can freeze its guest, which would block the caller forever. */
  #expectExit(): void {
    let seen = this.#received;
    this.#dying ??= setInterval(() => {
      // A slow reader delays the exit, which follows all output.
      const isSilent = this.#received === seen && this.#full.size === 0;
      seen = this.#received;
      if (isSilent) this.#lost('its guest does not end the command');
    }, this.#address.answerWithin ?? ANSWER_WITHIN);
  }

  #send(type: number, payload: string): void {
    if (!this.#isOver) this.#stream.write(WRITER.binary(type, payload));
  }

  #output(): Readable {
    const release = (): void => {
      if (this.#full.delete(stream)) this.#resume();
    };
    const stream: Readable = new Readable({ highWaterMark: AHEAD, read: release });
    stream.on('close', release);
    // Without a listener an error would end the host; a reader still gets it.
    stream.on('error', () => {});
    return stream;
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#received += chunk.length;
    this.#isShared = !coversMemory(chunk);
    this.#readMessages(this.#reader.read(chunk));
  }

  #readMessages(messages: Iterator<WebSocketMessage>): void {
    try {
      for (let count = 1; ; count += 1) {
        const { value: message, done } = messages.next() as IteratorResult<WebSocketMessage, undefined>;
        if (message === undefined || done) break;
        if (!this.#join(message)) {
          this.#flush();
          this.#take(message);
          // Ignore everything after the exit.
          if (this.#isOver) return;
        }
        if (count % AT_ONCE === 0 && this.#hold(() => this.#readMessages(messages))) return;
      }
      if (this.#joined !== undefined && !this.#isShared) ownMemory(this.#joined.payload);
      this.#flush();
      this.#hold(() => {});
    } catch (error) {
      this.#lost(BREAKS, error);
    }
  }

  /** Whether the turn is over: then `next` runs in the next one, and nothing is read until then. */
  #hold(next: () => void): boolean {
    const turn = this.#turn();
    if (turn === undefined) return false;
    this.#isHeld = true;
    this.#stream.pause();
    void this.#goOn(turn, next);
    return true;
  }

  async #goOn(turn: Promise<void>, next: () => void): Promise<void> {
    await turn;
    this.#isHeld = false;
    if (!this.#isOver) next();
    if (this.#isHeld || this.#isOver) return;
    if (this.#isCut) this.#lost(CUT);
    else this.#resume();
  }

  #resume(): void {
    if (this.#full.size === 0 && !this.#isHeld) this.#stream.resume();
  }

  /** Joins a piece of output with the previous one, so that a chunk is passed on as a whole. */
  #join(message: WebSocketMessage): boolean {
    if (message.kind !== 'binary' || (message.type !== EXEC.stdout && message.type !== EXEC.stderr))
      return false;
    const before = this.#joined;
    if (before?.type !== message.type) {
      this.#flush();
      this.#joined = message;
    } else {
      const { kind, type } = message;
      this.#joined = { kind, type, payload: adjoin(before.payload, message.payload) };
    }
    return true;
  }

  #flush(): void {
    const joined = this.#joined;
    if (joined === undefined) return;
    this.#joined = undefined;
    this.#isShared = true;
    this.#take(joined);
  }

  #take(message: WebSocketMessage): void {
    if (message.kind !== 'binary') throw new Error(`an unexpected message: ${message.kind}`);
    const { type, payload } = message;
    if (type === EXEC.stdout || type === EXEC.stderr) {
      const stream = type === EXEC.stderr && !this.#isTerminal ? this.stderr : this.stdout;
      if (stream.destroyed || stream.push(payload)) return;
      this.#full.add(stream);
      this.#stream.pause();
    } else if (type === EXEC.window && payload.length === 4) {
      this.stdin?.acknowledge(payload.readUInt32BE(0));
    } else if (type === EXEC.started) {
      clearTimeout(this.#late);
      this.#start.resolve();
    } else if (type === EXEC.exit) {
      this.#finish(commandExit.parse(boundedJson(payload.toString(), EXIT)));
    } else throw new Error(`an unexpected message of type ${type}`);
  }

  #finish(exit: ExecExit): void {
    this.#end();
    if (!this.stdout.destroyed) this.stdout.push(null);
    if (!this.#isTerminal && !this.stderr.destroyed) this.stderr.push(null);
    this.#exit.resolve(exit);
    this.#start.resolve();
  }

  #lost(what: string, cause?: unknown): void {
    // After each command its connection closes: an error takes long to make.
    if (this.#isOver) return;
    this.#fail(guestFailure(this.#address.sandboxId, what, cause));
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#end();
    const { sandboxId } = this.#address;
    const reason =
      error instanceof Error ? error : new Error(`Sandbox ${sandboxId}: aborted`, { cause: error });
    this.stdout.destroy(reason);
    this.stderr.destroy(reason);
    this.#exit.reject(error);
    this.#start.reject(error);
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#late);
    clearInterval(this.#dying);
    this.#signal?.removeEventListener('abort', this.#abort);
    this.stdin?.destroy();
    this.#stream.destroy();
  }

  /** The guest kills the process group when the connection ends. */
  readonly #abort = (): void => this.#fail(this.#signal?.reason);
}

/** Joins two pieces of one chunk in place, by moving the shorter one. */
function adjoin(first: Buffer, second: Buffer): Buffer {
  const whole = Buffer.from(
    first.buffer,
    first.byteOffset,
    second.byteOffset + second.length - first.byteOffset,
  );
  if (first.length < second.length) {
    const start = whole.length - second.length - first.length;
    return whole.copyWithin(start, 0, first.length).subarray(start);
  }
  return whole
    .copyWithin(first.length, whole.length - second.length)
    .subarray(0, first.length + second.length);
}

/**
 * At most one window of input is unacknowledged. So the guest never stops reading the connection
 * and notices at once when it closes, even if the command does not read its input.
 */
class GuestStdin extends Writable {
  readonly #stream: Duplex;
  #window = STDIN_WINDOW;
  #rest: Buffer = Buffer.alloc(0);
  #written: ((error?: Error | null) => void) | undefined;

  constructor(stream: Duplex) {
    super({ decodeStrings: true });
    this.#stream = stream;
    // A command that ends without reading all input is not an error of the writer.
    this.on('error', () => {});
  }

  acknowledge(bytes: number): void {
    this.#window = Math.min(STDIN_WINDOW, this.#window + bytes);
    this.#pump();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#rest = chunk;
    this.#written = done;
    this.#pump();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#stream.write(WRITER.binary(EXEC.stdinEnd));
    done();
  }

  #pump(): void {
    while (this.#rest.length > 0 && this.#window > 0) {
      const piece = this.#rest.subarray(0, Math.min(PIECE, this.#window));
      this.#rest = this.#rest.subarray(piece.length);
      this.#window -= piece.length;
      this.#stream.write(WRITER.binaryHead(EXEC.stdin, piece.length));
      this.#stream.write(piece);
    }
    if (this.#rest.length > 0) return;
    const done = this.#written;
    this.#written = undefined;
    done?.();
  }
}
