import { PassThrough, Writable } from 'node:stream';
import type { MessageListeners, MessageSocket } from '#core/terminals/message-socket.ts';
import type { ExecCommand, ExecExit, ExecProcess } from '#core/sandboxes/sandbox-provider.ts';

/** A shell that follows the test's instructions. */
export class FakeShell implements ExecProcess {
  readonly command: ExecCommand;
  readonly stdout = new PassThrough({ highWaterMark: 64 * 1024 });
  readonly stderr = new PassThrough();
  readonly exited: Promise<ExecExit>;
  readonly signals: string[] = [];
  readonly sizes: [number, number][] = [];
  /** Input that was typed and read. */
  typed = '';
  /** Whether it reads its input. */
  isReading = true;
  /** Whether a hang-up ends it. */
  diesOfHangUp = true;
  isAborted = false;
  readonly #exit = Promise.withResolvers<ExecExit>();
  #unread: (() => void) | undefined;
  readonly stdin = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const read = (): void => {
        this.typed += chunk.toString();
        done();
      };
      if (this.isReading) read();
      else this.#unread = read;
    },
  });

  constructor(command: ExecCommand, signal?: AbortSignal) {
    this.command = command;
    this.exited = this.#exit.promise;
    this.exited.catch(() => undefined);
    signal?.addEventListener('abort', () => {
      this.isAborted = true;
      this.lose();
    });
  }

  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP'): void {
    this.signals.push(signal);
    if (this.diesOfHangUp) this.end({ signal });
  }

  resize(cols: number, rows: number): void {
    this.sizes.push([cols, rows]);
  }

  print(text: string | Buffer): void {
    this.stdout.write(text);
  }

  readOn(): void {
    this.isReading = true;
    this.#unread?.();
  }

  end(exit: ExecExit): void {
    this.stdout.end();
    this.#exit.resolve(exit);
  }

  lose(): void {
    this.stdout.destroy(new Error('lost'));
    this.#exit.reject(new Error('lost'));
  }
}

/** A viewer: the test reads its socket manually, or it reads at once. */
export class FakeViewer implements MessageSocket {
  readonly sent: string[] = [];
  waiting = 0;
  isPaused = false;
  closedWith: [number, string] | undefined;
  /** Whether it reads at once. */
  isReading = true;
  #listeners: MessageListeners | undefined;

  listen(listeners: MessageListeners): void {
    this.#listeners = listeners;
  }

  send(message: Uint8Array | string): void {
    this.sent.push(typeof message === 'string' ? message : Buffer.from(message).toString());
    if (!this.isReading) this.waiting += message.length;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  close(code: number, reason: string): void {
    this.closedWith ??= [code, reason];
    this.#listeners?.closed();
  }

  readOn(): void {
    this.isReading = true;
    this.waiting = 0;
    this.#listeners?.sent();
  }

  type(message: string | Buffer): void {
    this.#listeners?.message(message);
  }

  leave(): void {
    this.#listeners?.closed();
  }
}

/** Resolves once the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
