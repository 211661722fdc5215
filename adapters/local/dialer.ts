import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { transportError } from './init-client.ts';
import type { ProcessIdentity } from './process-identity.ts';
import { SYSTEM_PATH } from './spawn-sandbox.ts';

/** How long a server may take to accept, in ms: one whose queue is full never does. */
const PATIENCE = 10_000;

/** How long a dialer without work is kept, in ms: it costs 10 MiB to keep and 60 ms to start. */
const IDLE = 300_000;

interface Waiting {
  resolve(socket: Socket | undefined): void;
  reject(error: unknown): void;
}

/** Where a dialer is started and as whom. */
export interface DialerPlace {
  readonly id: string;
  /** Lives in the user and network namespace that the sandbox's ports are in. */
  readonly holder: ProcessIdentity;
  readonly node: string;
  readonly runtime: string;
  /** The sandbox's uid and gid where the host is root. */
  readonly owner: number | undefined;
}

/**
 * A small trusted process in a sandbox's network namespace that connects to ports and passes the connected sockets to this
 * process: no byte is relayed. Resolves to undefined where that cannot be done on this machine.
 */
export class Dialer {
  readonly #child: ChildProcess;
  readonly #id: string;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  #idle: NodeJS.Timeout | undefined;
  /** Resolves when the process is gone, and nothing can be dialled through it any more. */
  readonly closed: Promise<void>;

  static async start(place: DialerPlace): Promise<Dialer | undefined> {
    const target = [
      '--preserve-credentials',
      '--user',
      '--net',
      '--mount',
      '--target',
      String(place.holder.pid),
    ];
    const script = join(place.runtime, 'js', 'dialer.js');
    const flags = ['--max-semi-space-size=1', '--max-old-space-size=24'];
    const identity = place.owner === undefined ? {} : { uid: place.owner, gid: place.owner };
    const child = spawn('nsenter', [...target, '--', place.node, ...flags, script], {
      ...identity,
      cwd: '/',
      env: SYSTEM_PATH,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const gone = new Promise<false>((resolve) => {
      child.once('exit', () => resolve(false));
      child.once('error', () => resolve(false));
    });
    const ready = await Promise.race([gone, once(child, 'message').then(() => true)]);
    return ready ? new Dialer(place.id, child, gone) : undefined;
  }

  private constructor(id: string, child: ChildProcess, gone: Promise<false>) {
    this.#id = id;
    this.#child = child;
    child.on('message', (message, handle) => this.#answered(message, handle as Socket | undefined));
    this.closed = this.#end(gone);
    this.#rest();
  }

  /** Undefined when the port refuses on both addresses. */
  dial(port: number, signal?: AbortSignal): Promise<Socket | undefined> {
    signal?.throwIfAborted();
    clearTimeout(this.#idle);
    this.#child.ref();
    this.#child.channel?.ref();
    const number = this.#next++;
    const { promise, resolve, reject } = Promise.withResolvers<Socket | undefined>();
    const late = setTimeout(() => reject(transportError(this.#id, `port ${port} does not accept`)), PATIENCE);
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener('abort', abort);
    this.#waiting.set(number, { resolve, reject });
    this.#child.send({ id: number, port }, (error) => {
      if (error !== null) reject(transportError(this.#id, 'its dialer has ended', error));
    });
    return promise.finally(() => {
      clearTimeout(late);
      signal?.removeEventListener('abort', abort);
      this.#waiting.delete(number);
      if (this.#waiting.size === 0) this.#rest();
    });
  }

  async #end(gone: Promise<false>): Promise<void> {
    await gone;
    clearTimeout(this.#idle);
    for (const one of this.#waiting.values()) one.reject(transportError(this.#id, 'its dialer has ended'));
    this.#waiting.clear();
  }

  close(): void {
    this.#child.kill('SIGKILL');
  }

  #answered(message: unknown, socket: Socket | undefined): void {
    const { id, error } = message as { id: number; error?: string };
    const waiting = this.#waiting.get(id);
    // Nobody waits any more: given up, or aborted.
    if (waiting === undefined) socket?.destroy();
    else if (socket !== undefined) {
      socket.allowHalfOpen = true;
      waiting.resolve(socket);
    } else if (error === undefined) waiting.reject(transportError(this.#id, 'the connection broke at once'));
    else waiting.resolve(undefined);
  }

  #rest(): void {
    // A dialer that rests keeps nobody from exiting.
    this.#child.unref();
    this.#child.channel?.unref();
    this.#idle = setTimeout(() => this.close(), IDLE).unref();
  }
}
