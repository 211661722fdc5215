import { write } from 'node:fs';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { ReadStream } from 'node:tty';
import { FRAME, type InitRequest } from './frames.ts';
import type { Operation } from './operation.ts';
import { signalGroup } from './operation.ts';
import { Outlet } from './outlet.ts';
import { whenSilent } from './settle.ts';

type Exec = Extract<InitRequest, { op: 'exec' }>;

/** The part of node-pty that is native. Its own wrapper cuts output off 200 ms after the exit, so it is not used. */
interface NativePty {
  fork(
    file: string,
    args: string[],
    env: string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helper: string,
    onExit: (code: number, signal: number) => void,
  ): { readonly fd: number; readonly pid: number };
  resize(fd: number, cols: number, rows: number): void;
}

const load = createRequire(import.meta.url);

function signalName(number: number): string {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found?.[0] ?? `SIG${number}`;
}

/** Runs a command on a terminal of its own. */
export function runTerminal(request: Exec, file: string, connection: Socket, pty = ''): Operation {
  const native = load(`${pty}/pty.node`) as NativePty;
  const helper = process.platform === 'darwin' ? `${pty}/spawn-helper` : '';
  const size = request.tty ?? { cols: 80, rows: 24 };
  const env = Object.entries({ TERM: 'xterm-256color', ...request.env }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const outlet = new Outlet(connection);
  let running = true;

  const { fd, pid } = native.fork(
    file,
    request.argv.slice(1),
    env,
    request.cwd,
    size.cols,
    size.rows,
    -1,
    -1,
    true,
    helper,
    (code, signal) => {
      running = false;
      whenSilent(outlet, () => {
        outlet.close(FRAME.exit, JSON.stringify(signal === 0 ? { code } : { signal: signalName(signal) }));
        keyboard.close();
      });
    },
  );
  outlet.send(FRAME.ok);
  // Linux says EIO, not end of file, when the last process has let go of a terminal; the outlet takes both as the end.
  const screen = new ReadStream(fd);
  outlet.take(screen, FRAME.stdout);
  let open = true;
  screen.on('close', () => {
    open = false;
  });
  const keyboard = new Keyboard(fd, (bytes) => {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(bytes);
    outlet.send(FRAME.stdinAck, payload);
  });

  return {
    group: pid,
    frame(type, payload) {
      if (type === FRAME.stdin) keyboard.type(payload);
      else if (type === FRAME.stdinEnd) keyboard.type(Buffer.from([4]), false);
      else if (type === FRAME.resize && payload.length === 4 && open) {
        native.resize(fd, payload.readUInt16BE(0), payload.readUInt16BE(2));
      } else if (type === FRAME.signal && running) signalGroup(pid, payload.toString());
    },
    gone() {
      outlet.discard();
      keyboard.close();
      if (running) signalGroup(pid, 'SIGKILL');
    },
  };
}

/** Writes to a terminal without ever blocking: a program that does not read its input must not stop the others. */
class Keyboard {
  #waiting: { bytes: Buffer; counted: number }[] = [];
  #writing = false;
  #open = true;
  readonly #fd: number;
  readonly #consumed: (bytes: number) => void;

  constructor(fd: number, consumed: (bytes: number) => void) {
    this.#fd = fd;
    this.#consumed = consumed;
  }

  type(bytes: Buffer, counted = true): void {
    if (!this.#open) {
      if (counted) this.#consumed(bytes.length);
      return;
    }
    this.#waiting.push({ bytes, counted: counted ? bytes.length : 0 });
    this.#write();
  }

  close(): void {
    this.#open = false;
    this.#waiting = [];
  }

  #write(): void {
    const first = this.#waiting[0];
    if (this.#writing || first === undefined || !this.#open) return;
    this.#writing = true;
    write(this.#fd, first.bytes, (error, written) => {
      this.#writing = false;
      if (error?.code === 'EAGAIN') {
        // The terminal's input is full until its program reads; nothing tells when, so it is asked again.
        setTimeout(() => this.#write(), 10);
        return;
      }
      if (error !== null) return this.close();
      first.bytes = first.bytes.subarray(written);
      if (first.bytes.length === 0) {
        this.#waiting.shift();
        if (first.counted > 0) this.#consumed(first.counted);
      }
      this.#write();
    });
  }
}
