import type { WebSocket } from 'ws';
import type { ShellChannel, ShellListener } from '#adapters/sandboxes/shell/shell-channel.ts';
import { type Heartbeat, startHeartbeat } from '../cluster/heartbeat.ts';
import { readMessage, resizeMessage, stdinEnd, stdinMessage } from './channel-frames.ts';
import { MAX_STATUS, readExecStatus } from './exec-status.ts';

/** A shell in a pod, on the WebSocket of its exec, which is paused when it comes here. */
export class ExecChannel implements ShellChannel {
  readonly #socket: WebSocket;
  #heartbeat: Heartbeat | undefined;
  /** The Status has come; the connection closes right behind it. */
  #isReported = false;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  listen(listener: ShellListener): void {
    const socket = this.#socket;
    this.#heartbeat = startHeartbeat(socket, () => listener.lost('nothing is heard of the command any more'));
    socket.on('message', (message: Buffer) => {
      try {
        this.#take(message, listener);
      } catch (error) {
        listener.lost('its exec breaks the protocol', error);
      }
    });
    socket.once('close', () => {
      if (!this.#isReported) listener.lost('the connection to the command was lost');
    });
    socket.resume();
  }

  write(bytes: Uint8Array, done: (error?: Error | null) => void = () => {}): void {
    this.#heartbeat?.sent();
    this.#socket.send(stdinMessage(bytes), done);
  }

  endInput(done: () => void = () => {}): void {
    this.#socket.send(stdinEnd(), done);
  }

  resize(cols: number, rows: number): void {
    this.#socket.send(resizeMessage(cols, rows), () => {});
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#heartbeat?.stop();
    this.#socket.terminate();
  }

  #take(message: Buffer, listener: ShellListener): void {
    const read = readMessage(message);
    if (read === undefined || read.channel === 'close') return;
    if (read.channel !== 'status') return listener[read.channel](read.payload);
    this.#isReported = true;
    const status = readExecStatus(read.payload.subarray(0, MAX_STATUS).toString());
    if (status.kind === 'exit') listener.ended(status.code);
    else listener.lost(`the command is lost: ${status.message}`);
  }
}
