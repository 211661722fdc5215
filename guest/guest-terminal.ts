import { write } from 'node:fs';
import { createRequire } from 'node:module';
import { ReadStream } from 'node:tty';
import { CommandOutput } from './command-output.ts';
import type { ChildTimes } from './process-usage.ts';
import type { CommandExit, TerminalSize } from '../protocol/guest/exec-protocol.ts';
import { signalName } from '../protocol/guest/signals.ts';
import type { CommandInput, PreparedCommand, StartedCommand } from './start-command.ts';
import { signalGroup } from './protect-guest.ts';

/**
 * The native part of node-pty. Its own wrapper truncates output 200 ms after the exit, so it is not
 * used.
 */
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

/** Runs a command on a new terminal. @param pty the folder of node-pty's native part */
export function startTerminal(
  command: PreparedCommand,
  size: TerminalSize,
  pty: string,
  times: ChildTimes,
): StartedCommand {
  const native = createRequire(`${pty}/`)('./pty.node') as NativePty;
  const helper = process.platform === 'darwin' ? `${pty}/spawn-helper` : '';
  const env = Object.entries({ TERM: 'xterm-256color', ...command.env });
  const { promise, resolve } = Promise.withResolvers<CommandExit>();
  let running = true;
  const { fd, pid } = native.fork(
    command.file,
    command.argv.slice(1),
    env.map(([name, value]) => `${name}=${value}`),
    command.cwd,
    size.cols,
    size.rows,
    -1,
    -1,
    true,
    helper,
    (code, signal) => {
      running = false;
      resolve(signal === 0 ? { code } : { signal: signalName(signal) });
    },
  );
  // Linux reports EIO, not end of file, when the last process has closed a terminal; the output
  // treats both as the end.
  const screen = new ReadStream(fd);
  let open = true;
  const input = new TerminalInput(fd);
  screen.on('close', () => {
    open = false;
    input.close();
  });
  return {
    pid,
    output: new CommandOutput([['stdout', screen]]),
    input,
    exited: promise,
    ticks: promise.then(() => times.ended()),
    signal: (name) => {
      if (!running || signalGroup(pid, name)) return;
      try {
        // Just forked: it has no group until it has called setsid.
        process.kill(pid, name);
      } catch {
        // ESRCH: it has exited meanwhile.
      }
    },
    resize: ({ cols, rows }) => {
      if (open) native.resize(fd, cols, rows);
    },
  };
}

const CTRL_D = Buffer.from([4]);

/**
 * Writes to a terminal without blocking: a program that does not read its input must not stop the
 * others.
 */
class TerminalInput implements CommandInput {
  #waiting: { bytes: Buffer; taken: () => void }[] = [];
  #writing = false;
  #open = true;
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(bytes: Buffer, taken: () => void): void {
    if (!this.#open) return taken();
    this.#waiting.push({ bytes, taken });
    this.#write();
  }

  end(): void {
    this.write(CTRL_D, () => {});
  }

  close(): void {
    this.#open = false;
    for (const { taken } of this.#waiting.splice(0)) taken();
  }

  #write(): void {
    const first = this.#waiting[0];
    if (this.#writing || first === undefined || !this.#open) return;
    this.#writing = true;
    write(this.#fd, first.bytes, (error, written) => {
      this.#writing = false;
      if (error?.code === 'EAGAIN') {
        // The terminal's input buffer is full, and no event reports when it has space.
        setTimeout(() => this.#write(), 10);
        return;
      }
      if (error !== null) return this.close();
      first.bytes = first.bytes.subarray(written);
      if (first.bytes.length === 0) {
        this.#waiting.shift();
        first.taken();
      }
      this.#write();
    });
  }
}
