import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type KeptDetails, OutputExcerpt } from './kept-details.ts';
import { outOfMemoryKills } from './process-usage.ts';
import {
  type CommandExit,
  EXEC,
  execRequest,
  signalName,
  type SignalName,
  terminalSize,
} from '../protocol/guest/exec-protocol.ts';
import {
  acceptKey,
  type WebSocketMessage,
  WebSocketReader,
  WebSocketWriter,
} from '../protocol/guest/web-socket-protocol.ts';
import { parse, parseJson } from './read-json.ts';
import { refusalOf, GuestError } from './router.ts';
import type { CommandStarter, RefusedCommand, StartedCommand } from './start-command.ts';

/** Answers a WebSocket handshake. @throws GuestError `invalid_request` */
function acceptHandshake(request: IncomingMessage, socket: Duplex): void {
  const { upgrade, 'sec-websocket-key': key, 'sec-websocket-version': version } = request.headers;
  if (upgrade?.toLowerCase() !== 'websocket' || typeof key !== 'string' || version !== '13') {
    throw new GuestError(
      'invalid_request',
      'Commands are run over a WebSocket of version 13: send its handshake.',
    );
  }
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptKey(key)}\r\n\r\n`,
  );
}

/**
 * `GET /v1/exec`: runs one command, attached to its connection. Accepts messages sent directly
 * after the handshake, so that a command starts one round trip after its connection.
 */
export function serveExec(
  starter: CommandStarter,
  details: KeptDetails,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  // The handshake and the first messages go out in one write.
  socket.cork();
  acceptHandshake(request, socket);
  const connection = new AttachedCommand(starter, details, socket);
  if (head.length > 0) connection.read(head);
  process.nextTick(() => socket.uncork());
}

/** Bytes of output waiting for the host before the command is paused: more than one piece. */
const MAX_WAITING_BYTES = 256 * 1024;

/** Smaller messages do not use a pooled buffer. */
const LARGE = 8 * 1024;

/** Size of a pooled buffer: a piece of output and the head of its message. */
const BUFFER = 64 * 1024 + 16;

/** A shell's exit code after a SIGKILL. */
const KILLED = 128 + 9;

class AttachedCommand {
  readonly #starter: CommandStarter;
  readonly #details: KeptDetails;
  readonly #socket: Duplex;
  readonly #reader = new WebSocketReader('server');
  readonly #writer = new WebSocketWriter('server');
  #began = false;
  #early: WebSocketMessage[] = [];
  #command: StartedCommand | undefined;
  #isOver = false;
  /** Out-of-memory kills before it; undefined until it runs, and once a request kills it. */
  #kills: number | undefined;
  /** The output that is kept for the host. */
  #kept: { readonly id: string; readonly excerpt: OutputExcerpt } | undefined;
  /** Pooled buffers of large messages: those being sent, the oldest first, and free ones. */
  readonly #sending: Buffer[] = [];
  readonly #spare: Buffer[] = [];
  readonly #sent = (): void => {
    this.#spare.push(this.#sending.shift() as Buffer);
  };

  constructor(starter: CommandStarter, details: KeptDetails, socket: Duplex) {
    this.#starter = starter;
    this.#details = details;
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.#gone());
    socket.on('drain', () => this.#command?.output.release());
  }

  read(chunk: Buffer): void {
    try {
      for (const message of this.#reader.read(chunk)) this.#take(message);
    } catch {
      this.#socket.destroy();
    }
  }

  #take(message: WebSocketMessage): void {
    if (message.kind === 'ping') this.#send(this.#writer.pong(message.payload));
    else if (message.kind === 'close') this.#socket.destroy();
    else if (!this.#began) {
      this.#began = true;
      this.#begin(message);
    } else if (this.#command === undefined) this.#early.push(message);
    else this.#control(this.#command, message);
  }

  #begin({ kind, payload }: WebSocketMessage): void {
    if (kind !== 'text') throw new Error('the first message is not a request');
    let starting: ReturnType<CommandStarter['start']>;
    try {
      const { detail_id: id, ...request } = parseJson(payload.toString(), execRequest);
      if (id !== undefined) this.#kept = { id, excerpt: new OutputExcerpt() };
      starting = this.#starter.start(request);
    } catch (error) {
      this.#finish({ code: 126 }, refusalOf(error).body);
      return;
    }
    if (starting instanceof Promise) void starting.then((started) => this.#started(started));
    else this.#started(starting);
  }

  #started(started: StartedCommand | RefusedCommand): void {
    this.#send(this.#writer.binary(EXEC.started));
    if (!('pid' in started)) {
      this.#finish({ code: started.code }, `${started.reason}\n`);
      return;
    }
    this.#command = started;
    if (this.#isOver) {
      started.signal('SIGKILL');
      started.output.discard();
      return;
    }
    started.output.begin((kind, chunk) => this.#output(EXEC[kind], chunk));
    setImmediate(() => (this.#kills = outOfMemoryKills()));
    void started.exited.then((exit) =>
      started.output.drain(() => this.#finish(exit, this.#outOfMemory(exit))),
    );
    for (const message of this.#early.splice(0)) this.#control(started, message);
  }

  #output(type: number, chunk: Buffer): boolean {
    if (this.#isOver) return true;
    this.#kept?.excerpt.add(chunk);
    if (chunk.length < LARGE || chunk.length > BUFFER - 16) {
      this.#socket.write(this.#writer.binary(type, chunk));
    } else {
      const buffer = this.#spare.pop() ?? Buffer.allocUnsafeSlow(BUFFER);
      const head = this.#writer.binaryHead(type, chunk.length);
      buffer.set(head);
      buffer.set(chunk, head.length);
      this.#sending.push(buffer);
      this.#socket.write(buffer.subarray(0, head.length + chunk.length), this.#sent);
    }
    return this.#socket.writableLength < MAX_WAITING_BYTES;
  }

  #control(command: StartedCommand, message: WebSocketMessage): void {
    if (message.kind !== 'binary') throw new Error('a second request');
    const { type, payload } = message;
    if (type === EXEC.stdin) this.#stdin(command, payload);
    else if (type === EXEC.stdinEnd) command.input?.end();
    else if (type === EXEC.signal) this.#signal(command, parse(payload.toString(), signalName));
    else if (type === EXEC.resize) command.resize(parseJson(payload.toString(), terminalSize));
    else throw new Error(`a message of type ${type}`);
  }

  #signal(command: StartedCommand, name: SignalName): void {
    if (name === 'SIGKILL') this.#kills = undefined;
    command.signal(name);
  }

  /** Also for a shell: its exit code says that a command of it was killed. */
  #outOfMemory(exit: CommandExit): string | undefined {
    const wasKilled = 'signal' in exit ? exit.signal === 'SIGKILL' : exit.code === KILLED;
    if (!wasKilled || this.#kills === undefined || outOfMemoryKills() <= this.#kills) return undefined;
    const limit = this.#starter.memoryLimit;
    const at = limit === undefined ? '' : `, at the sandbox's limit of ${limit} MiB`;
    return `Out of memory: the kernel ended the command${at}.\n`;
  }

  #stdin({ input }: StartedCommand, payload: Buffer): void {
    const taken = (): void => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(payload.length);
      this.#send(this.#writer.binary(EXEC.window, bytes));
    };
    if (input === undefined) taken();
    else input.write(payload, taken);
  }

  #send(bytes: Buffer): void {
    if (!this.#isOver && this.#socket.writable) this.#socket.write(bytes);
  }

  /** Sends the last message; later output is read and dropped. */
  #finish(exit: CommandExit, reason?: string): void {
    if (this.#isOver) return;
    if (this.#kept !== undefined) {
      const { id, excerpt } = this.#kept;
      if (reason !== undefined) excerpt.add(Buffer.from(reason));
      this.#details.keep(id, { output: excerpt.output });
    }
    this.#socket.cork();
    if (reason !== undefined) this.#send(this.#writer.binary(EXEC.stderr, reason));
    this.#send(this.#writer.binary(EXEC.exit, JSON.stringify(exit)));
    this.#isOver = true;
    this.#socket.end(this.#writer.close());
    this.#command?.output.discard();
  }

  /** The connection is closed: an attached command does not outlive it. */
  #gone(): void {
    this.#isOver = true;
    this.#command?.signal('SIGKILL');
    this.#command?.output.discard();
  }
}
