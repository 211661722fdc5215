import { parseObject } from '../http/parse-object.ts';
import { PortholeError } from '../http/porthole-error.ts';
import { Mailbox } from '../streams/mailbox.ts';
import type { Socket } from './open-socket.ts';

export interface TerminalOptions {
  readonly cols?: number | undefined;
  readonly rows?: number | undefined;
  /** Name or path of a program. @default bash */
  readonly shell?: string | undefined;
  /**
   * Session of the terminal. With a session, the terminal survives a lost socket. Without one, it
   * ends.
   */
  readonly session?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface TerminalExit {
  readonly code: number;
  readonly signal?: string | undefined;
}

/** Maximum output bytes buffered for the reader. */
const MAX_WAITING_BYTES = 33_554_432;
/** Maximum input bytes buffered while disconnected. */
const MAX_TYPED_BYTES = 65_536;
/**
 * Maximum consecutive reconnects, and the first delay in milliseconds; each further one is twice as
 * long.
 */
const MAX_RECONNECTS = 6;
const FIRST_PAUSE_MS = 250;
/** Timeout of a connection attempt, in milliseconds. */
const OPEN_MS = 60_000;

/** RIS (ECMA-48): resets the screen before the replay. */
const RESET = new Uint8Array([0x1b, 0x63]);

/**
 * Close codes after which a retry may succeed (RFC 6455, section 7.4.1): gone, lost, failed, later.
 */
const MAY_RETURN = new Set([1001, 1005, 1006, 1011, 1012, 1013]);

/** Settles the promises of a terminal. */
interface Settle {
  readonly exit: (exit: TerminalExit) => void;
  readonly fail: (error: Error) => void;
  readonly ready: () => void;
  readonly notReady: (error: Error) => void;
}

/**
 * A shell on a terminal. Iterating yields its output as bytes. After a lost connection the terminal
 * of a session reconnects: the screen is reset, and the session's last output is replayed.
 */
export class Terminal implements AsyncIterable<Uint8Array>, AsyncDisposable {
  /** How the shell ended. Rejects with a PortholeError if it is unknown. */
  readonly exit: Promise<TerminalExit>;
  /** Resolves once the terminal is ready. Rejects if it cannot start. */
  readonly ready: Promise<void>;
  readonly #open: () => Socket;
  readonly #mayReturn: boolean;
  readonly #shown = new Mailbox(MAX_WAITING_BYTES);
  readonly #settle: Settle;
  #socket: Socket | undefined;
  #isReady = false;
  #isOver = false;
  #returns = 0;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #typed: Uint8Array<ArrayBuffer>[] = [];
  #size: { readonly cols: number; readonly rows: number } | undefined;
  #said: string | undefined;

  /** @param open opens a socket to it */
  constructor(open: () => Socket, { session, signal }: Pick<TerminalOptions, 'session' | 'signal'>) {
    this.#open = open;
    this.#mayReturn = session !== undefined;
    let settle: Partial<Settle> = {};
    this.exit = new Promise((resolve, reject) => (settle = { ...settle, exit: resolve, fail: reject }));
    this.ready = new Promise((resolve, reject) => (settle = { ...settle, ready: resolve, notReady: reject }));
    this.#settle = settle as Settle;
    // Unobserved rejections are not errors.
    this.exit.catch(() => undefined);
    this.ready.catch(() => undefined);
    const abort = (): void => this.#fail(signal?.reason as Error);
    if (signal?.aborted === true) abort();
    else {
      signal?.addEventListener('abort', abort, { once: true });
      this.#connect();
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, void> {
    return this.#shown[Symbol.asyncIterator]();
  }

  /** Sends input. While disconnected, up to 64 KiB are buffered for the reconnect. */
  write(input: string | Uint8Array): void {
    if (this.#isOver) return;
    const bytes = typeof input === 'string' ? new TextEncoder().encode(input) : new Uint8Array(input);
    if (this.#isReady) return this.#socket?.send(bytes);
    const length = this.#typed.reduce((sum, each) => sum + each.length, bytes.length);
    if (length <= MAX_TYPED_BYTES) this.#typed.push(bytes);
    return undefined;
  }

  resize(cols: number, rows: number): void {
    this.#size = { cols, rows };
    if (this.#isReady) this.#sendSize();
  }

  /** Disconnects. The shell of a session continues; any other ends. */
  close(): void {
    this.#fail(
      new PortholeError('The terminal was closed.', { status: 0, code: 'closed', retryable: false }),
      undefined,
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  #connect(): void {
    const socket = this.#open();
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    let isFirst = this.#returns === 0;
    const limit = setTimeout(() => socket.close(), OPEN_MS);
    socket.addEventListener('open', () => clearTimeout(limit));
    socket.addEventListener('message', ({ data }) => {
      if (this.#socket !== socket) return;
      if (!isFirst) {
        isFirst = true;
        this.#shown.put(RESET);
      }
      if (typeof data === 'string') this.#control(data);
      else if (data instanceof ArrayBuffer) this.#show(new Uint8Array(data));
    });
    socket.addEventListener('error', () => undefined);
    socket.addEventListener('close', ({ code, reason }) => {
      clearTimeout(limit);
      if (this.#socket === socket) this.#lost(code, reason);
    });
  }

  #show(bytes: Uint8Array): void {
    if (this.#shown.put(bytes) || this.#isOver) return;
    this.#fail(
      new PortholeError(
        `The terminal showed ${MAX_WAITING_BYTES} unread bytes: read the output as it arrives.`,
        {
          status: 0,
          code: 'too_slow',
          retryable: false,
        },
      ),
    );
  }

  #control(text: string): void {
    const { type, code, signal, message } = parseObject(text);
    if (type === 'ready') {
      this.#isReady = true;
      this.#returns = 0;
      if (this.#size !== undefined) this.#sendSize();
      for (const bytes of this.#typed.splice(0)) this.#socket?.send(bytes);
      this.#settle.ready();
    } else if (type === 'exit' && typeof code === 'number') {
      this.#over();
      this.#settle.exit({ code, ...(typeof signal === 'string' ? { signal } : {}) });
      this.#shown.end();
    } else if (type === 'error' && typeof message === 'string') this.#said = message;
  }

  #lost(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#isReady = false;
    const why = this.#said ?? (reason === '' ? `the connection was lost (${code})` : reason);
    this.#said = undefined;
    if (!this.#mayReturn || !MAY_RETURN.has(code) || this.#returns >= MAX_RECONNECTS) {
      return this.#fail(
        new PortholeError(`The terminal is gone: ${why}. Open it again.`, { status: 0, code: 'unreachable' }),
      );
    }
    const pause = FIRST_PAUSE_MS * 2 ** this.#returns;
    this.#returns += 1;
    this.#pause = setTimeout(() => {
      if (!this.#isOver) this.#connect();
    }, pause);
    return undefined;
  }

  #sendSize(): void {
    this.#socket?.send(JSON.stringify({ type: 'resize', ...this.#size }));
  }

  /** @param cause error for readers; undefined: the stream ends normally */
  #fail(error: Error, cause: Error | undefined = error): void {
    if (this.#isOver) return;
    this.#over();
    this.#settle.notReady(error);
    this.#settle.fail(error);
    this.#shown.end(cause);
  }

  #over(): void {
    this.#isOver = true;
    clearTimeout(this.#pause);
    this.#typed = [];
    this.#socket?.close();
  }
}
