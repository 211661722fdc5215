import type { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { WebSocket } from 'ws';
import type {
  ExecCommand,
  ExecExit,
  ExecProcess,
  GuestConnection,
} from '#core/sandboxes/sandbox-provider.ts';
import {
  commandExit,
  EXEC,
  type ExecRequest,
  MAX_CONTROL_BYTES,
  MAX_DATA_BYTES,
  STDIN_WINDOW,
  terminalSize,
} from '#protocol/guest/exec-protocol.ts';
import { PortholeError } from '#base/errors.ts';
import { traceHeaders } from '#core/telemetry/tracing.ts';
import { boundedJson, type JsonLimits } from '#base/bounded-json.ts';
import { ownMemory } from '#base/free-buffer.ts';
import { ANSWER_WITHIN, guestFailure, textAnswer, turnsOf } from '#core/processes/guest-answers.ts';
import { connectToGuest, type GuestAddress, guestRefusal, MAX_REFUSAL } from './guest-connection.ts';
import { readInTurns } from './read-in-turns.ts';

/** Read-ahead per stream, in bytes: several pieces, because pausing at each one costs more. */
const AHEAD = 256 * 1024;

/** An exit has two values. */
const EXIT: JsonLimits = { depth: 4, values: 16 };

/** Pieces in which a message may arrive: each costs memory beside its bytes. */
const MAX_CHUNKS = 1024;

/** From this length on the head of a message has at least `HEAD` bytes (RFC 6455 section 5.2). */
const LONG = 126;
const HEAD = 4;

/** Largest stdin payload of one message, in bytes. */
const PIECE = 64 * 1024;

/**
 * Starts a command in a guest.
 * @throws PortholeError `invalid_request`, `exec_transport_error`
 */
export async function startGuestCommand(
  address: GuestAddress,
  command: ExecCommand,
  signal?: AbortSignal,
): Promise<ExecProcess> {
  checkCommand(command);
  const connection = await connectToGuest(address, 'GET /v1/exec', signal);
  const started = new GuestCommand(address, connection, command, signal);
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

const BREAKS = 'its guest violates the protocol';
const CUT = 'the connection to the command was lost';

class GuestCommand implements ExecProcess {
  readonly stdin: GuestStdin | null;
  readonly #address: GuestAddress;
  readonly #socket: WebSocket;
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

  constructor(
    address: GuestAddress,
    connection: GuestConnection,
    command: ExecCommand,
    signal: AbortSignal | undefined,
  ) {
    this.#address = address;
    this.#isTerminal = command.tty !== undefined;
    this.#signal = signal;
    this.#socket = this.#open(connection, command);
    if (this.#isTerminal) this.stderr.push(null);
    this.stdin = command.stdin || this.#isTerminal ? new GuestStdin(this.#socket) : null;
    // A caller that only reads the output sees the failure there; an unhandled rejection would end
    // the host.
    this.exited.catch(() => {});
    this.#late = setTimeout(
      () => this.#lost('its guest does not start the command'),
      address.answerWithin ?? ANSWER_WITHIN,
    );
    signal?.addEventListener('abort', this.#abort);
    if (signal?.aborted) this.#abort();
  }

  #open({ stream, headers = {} }: GuestConnection, command: ExecCommand): WebSocket {
    let measure: (() => void) | undefined;
    const socket = new WebSocket('ws://guest/v1/exec', {
      // ws and Node's client use what any stream has.
      createConnection: () => stream as Socket,
      headers: { ...traceHeaders(), ...headers },
      // The request goes out with the handshake, in one write: a command costs one round trip.
      finishRequest: (handshake) => {
        stream.cork();
        handshake.once('socket', () => {
          measure = readInTurns(stream, turnsOf(this.#address.sandboxId));
          process.nextTick(() => {
            stream.write(firstMessage(command));
            stream.uncork();
          });
        });
        handshake.end();
      },
      perMessageDeflate: false,
      autoPong: false,
      maxPayload: MAX_DATA_BYTES,
      maxBufferedChunks: MAX_CHUNKS,
      // Guests send each message in one piece.
      maxFragments: 1,
      // Masks protect caching proxies (RFC 6455 section 10.3): there are none.
      generateMask: (mask) => mask.fill(0),
    });
    socket.on('open', () => {
      stream.on('data', ({ length }: Buffer) => (this.#received += length));
      measure?.();
    });
    socket.on('message', (message: Buffer, isBinary: boolean) => {
      try {
        this.#take(message, isBinary);
      } catch (error) {
        this.#lost(BREAKS, error);
      }
    });
    socket.on('unexpected-response', (_request, response) => {
      const { sandboxId, answerWithin: within = ANSWER_WITHIN } = this.#address;
      textAnswer(response, sandboxId, { limit: MAX_REFUSAL, within }).then(
        (text) => this.#fail(guestRefusal(sandboxId, response.statusCode ?? 500, text)),
        (error: unknown) => this.#fail(error),
      );
    });
    socket.on('error', (error) => this.#lost(CUT, error));
    socket.on('close', () => this.#lost(CUT));
    return socket;
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
    if (!this.#isOver) this.#socket.send(messageOf(type, Buffer.from(payload)));
  }

  #output(): Readable {
    const release = (): void => {
      if (this.#full.delete(stream) && this.#full.size === 0) this.#socket.resume();
    };
    const stream: Readable = new Readable({ highWaterMark: AHEAD, read: release });
    stream.on('close', release);
    // Without a listener an error would end the host; a reader still gets it.
    stream.on('error', () => {});
    return stream;
  }

  #take(message: Buffer, isBinary: boolean): void {
    // Ignore everything after the exit.
    if (this.#isOver) return;
    const [type] = message;
    if (!isBinary || type === undefined) throw new Error('a message without a type');
    const payload = message.subarray(1);
    if (type === EXEC.stdout || type === EXEC.stderr) {
      const stream = type === EXEC.stderr && !this.#isTerminal ? this.stderr : this.stdout;
      if (isAlone(message)) ownMemory(payload);
      if (payload.length === 0 || stream.destroyed || stream.push(payload)) return;
      this.#full.add(stream);
      this.#socket.pause();
    } else if (payload.length > MAX_CONTROL_BYTES) throw new Error('a message is too long');
    else if (type === EXEC.window && payload.length === 4) {
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
    this.#socket.terminate();
  }

  /** The guest kills the process group when the connection ends. */
  readonly #abort = (): void => this.#fail(this.#signal?.reason);
}

/** The request as a WebSocket message masked with zeros: ws sends none before it is open. */
function firstMessage(command: ExecCommand): Buffer {
  const { argv, script, cwd, env, stdin, tty, detailId: detail_id } = command;
  const request: ExecRequest = { argv: [...argv], script, cwd, env, stdin, tty, detail_id };
  const payload = Buffer.from(JSON.stringify(request));
  const head = Buffer.alloc(14);
  head[0] = 0x81;
  head[1] = 0xff;
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

/** Whether its memory holds nothing but the message, and perhaps its head. */
function isAlone({ buffer, byteOffset, length }: Buffer): boolean {
  return length >= LONG && byteOffset <= HEAD && byteOffset + length === buffer.byteLength;
}

function messageOf(type: number, payload: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(type), payload]);
}

/**
 * At most one window of input is unacknowledged. So the guest never stops reading the connection
 * and notices at once when it closes, even if the command does not read its input.
 */
class GuestStdin extends Writable {
  readonly #socket: WebSocket;
  #window = STDIN_WINDOW;
  #rest: Buffer = Buffer.alloc(0);
  #written: ((error?: Error | null) => void) | undefined;

  constructor(socket: WebSocket) {
    super({ decodeStrings: true });
    this.#socket = socket;
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
    this.#socket.send(messageOf(EXEC.stdinEnd, Buffer.alloc(0)));
    done();
  }

  #pump(): void {
    while (this.#rest.length > 0 && this.#window > 0) {
      const piece = this.#rest.subarray(0, Math.min(PIECE, this.#window));
      this.#rest = this.#rest.subarray(piece.length);
      this.#window -= piece.length;
      this.#socket.send(messageOf(EXEC.stdin, piece));
    }
    if (this.#rest.length > 0) return;
    const done = this.#written;
    this.#written = undefined;
    done?.();
  }
}
