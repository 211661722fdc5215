import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type KeptDetails, OutputExcerpt } from './kept-details.ts';
import { outOfMemoryKills } from './process-usage.ts';
import {
  type CommandExit,
  EXEC,
  execRequest,
  MAX_CONTROL_BYTES,
  signalName,
  type SignalName,
  terminalSize,
} from '../protocol/guest/exec-protocol.ts';
import { MAX_JSON } from '../protocol/guest/http-protocol.ts';
import { traceEnvironment } from '../protocol/guest/trace-context.ts';
import { parse, parseJson } from './read-json.ts';
import { refusalOf } from './router.ts';
import type { CommandStarter, RefusedCommand, StartedCommand } from './start-command.ts';

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  // The request is the longest message.
  maxPayload: MAX_JSON,
  maxFragments: 1,
});

/** `GET /v1/exec`: runs one command, attached to its connection. */
export function serveExec(
  starter: CommandStarter,
  details: KeptDetails,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  // The handshake and the first messages go out in one write.
  socket.cork();
  server.handleUpgrade(request, socket, head, (messages) => {
    const attached = new AttachedCommand(
      starter,
      details,
      messages,
      socket,
      traceEnvironment(request.headers),
    );
    attached.listen();
  });
  // After ws has read the request, in a tick that it has just queued.
  process.nextTick(() => socket.uncork());
}

/** Bytes of output waiting for the host before the command is paused: more than one piece. */
const MAX_WAITING_BYTES = 256 * 1024;

/** Smaller messages do not use a pooled buffer. */
const LARGE = 8 * 1024;

/** Size of a pooled buffer: a piece of output and the type of its message. */
const BUFFER = 64 * 1024;

/** A shell's exit code after a SIGKILL. */
const KILLED = 128 + 9;

class AttachedCommand {
  readonly #starter: CommandStarter;
  readonly #details: KeptDetails;
  readonly #messages: WebSocket;
  readonly #socket: Duplex;
  /** Of the trace that the request continues. */
  readonly #trace: Readonly<Record<string, string>>;
  #began = false;
  #early: Buffer[] = [];
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

  constructor(
    starter: CommandStarter,
    details: KeptDetails,
    messages: WebSocket,
    socket: Duplex,
    trace: Readonly<Record<string, string>>,
  ) {
    this.#trace = trace;
    this.#starter = starter;
    this.#details = details;
    this.#messages = messages;
    this.#socket = socket;
  }

  listen(): void {
    const [messages, socket] = [this.#messages, this.#socket];
    messages.on('error', () => messages.terminate());
    messages.on('message', (message: Buffer, isBinary) => {
      try {
        this.#take(message, isBinary);
      } catch {
        messages.terminate();
      }
    });
    messages.on('close', () => this.#gone());
    socket.on('end', () => messages.terminate());
    socket.on('drain', () => this.#command?.output.release());
  }

  #take(message: Buffer, isBinary: boolean): void {
    if (isBinary !== this.#began) throw new Error('the first message is a request, and no other one');
    this.#began = true;
    if (!isBinary) this.#begin(message.toString());
    else if (this.#command === undefined) this.#early.push(message);
    else this.#control(this.#command, message);
  }

  #begin(text: string): void {
    let starting: ReturnType<CommandStarter['start']>;
    try {
      const { detail_id: id, env, ...request } = parseJson(text, execRequest);
      if (id !== undefined) this.#kept = { id, excerpt: new OutputExcerpt() };
      starting = this.#starter.start({ ...request, env: { ...this.#trace, ...env } });
    } catch (error) {
      this.#finish({ code: 126 }, refusalOf(error).body);
      return;
    }
    if (starting instanceof Promise) void starting.then((started) => this.#started(started));
    else this.#started(starting);
  }

  #started(started: StartedCommand | RefusedCommand): void {
    this.#send(EXEC.started);
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
    if (chunk.length < LARGE || chunk.length >= BUFFER) this.#send(type, chunk);
    else {
      const buffer = this.#spare.pop() ?? Buffer.allocUnsafeSlow(BUFFER);
      buffer[0] = type;
      buffer.set(chunk, 1);
      this.#sending.push(buffer);
      this.#messages.send(buffer.subarray(0, 1 + chunk.length), this.#sent);
    }
    return this.#socket.writableLength < MAX_WAITING_BYTES;
  }

  #control(command: StartedCommand, message: Buffer): void {
    const type = message[0];
    const payload = message.subarray(1);
    if (type === EXEC.stdin) this.#stdin(command, payload);
    else if (payload.length > MAX_CONTROL_BYTES) throw new Error('a message is too long');
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
      this.#send(EXEC.window, bytes);
    };
    if (input === undefined) taken();
    else input.write(payload, taken);
  }

  #send(type: number, payload: string | Uint8Array = ''): void {
    if (this.#isOver) return;
    this.#messages.send(Buffer.concat([Buffer.of(type), Buffer.from(payload)]));
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
    if (reason !== undefined) this.#send(EXEC.stderr, reason);
    this.#send(EXEC.exit, JSON.stringify(exit));
    this.#isOver = true;
    this.#messages.close();
    this.#socket.uncork();
    this.#command?.output.discard();
  }

  /** The connection is closed: an attached command does not outlive it. */
  #gone(): void {
    this.#isOver = true;
    this.#command?.signal('SIGKILL');
    this.#command?.output.discard();
  }
}
