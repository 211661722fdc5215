import { spawn } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, readdirSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Pipes per batch: enough for 64 commands. Starting mkfifo takes longer than its work. */
const BATCH = 128;
/** Below this number the next batch is created. */
const FEW = 32;

/** One stream of a command's output. */
export interface CommandPipe {
  /** The guest's end; non-blocking. */
  readonly ours: number;
  /** The command's end, blocking as programs expect; close it once the command has it. */
  readonly theirs: number;
}

/**
 * Named pipes for the output of commands. Node gives its children sockets, and a socket cannot be
 * opened a second time: `echo oops > /dev/stderr` fails on one. Not for stdin: reopening /dev/stdin
 * would block forever once all input is written.
 */
export class CommandPipes {
  readonly #folder: string;
  readonly #spare: string[] = [];
  /** Opened while the guest was idle, so that the next command does not wait for it. */
  #ready: readonly [CommandPipe, CommandPipe] | undefined;
  #filling: Promise<void> | undefined;
  /** mkfifo is not installed, or the folder's file system has no pipes. */
  #unavailable = process.platform !== 'linux';
  #next = 0;

  /** @param folder a folder for these pipes only */
  constructor(folder: string) {
    this.#folder = folder;
    try {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch {
      this.#unavailable = true;
    }
  }

  /** Creates some ahead, so that no command waits for them. Never rejects. */
  prepare(): Promise<void> {
    if (this.#unavailable || this.#spare.length >= FEW) return Promise.resolve();
    this.#filling ??= this.#fill().finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  /** Two pipes if they exist already; `wait()` says whether more may come. */
  take(): readonly [CommandPipe, CommandPipe] | undefined {
    const pair = this.#ready ?? this.#openPair();
    this.#ready = undefined;
    setImmediate(() => {
      this.#ready ??= this.#openPair();
      void this.prepare();
    });
    return pair;
  }

  #openPair(): readonly [CommandPipe, CommandPipe] | undefined {
    const stdout = this.#open();
    const stderr = this.#open();
    if (stdout !== undefined && stderr !== undefined) return [stdout, stderr];
    for (const pipe of [stdout, stderr]) if (pipe !== undefined) discard(pipe);
    return undefined;
  }

  /** Like `take`, but waits until pipes are created. Undefined if pipes are not available. */
  async takeLater(): Promise<readonly [CommandPipe, CommandPipe] | undefined> {
    for (let pair = this.take(); ; pair = this.take()) {
      if (pair !== undefined || this.#unavailable) return pair;
      await this.prepare();
    }
  }

  get isEmpty(): boolean {
    return this.#ready === undefined && this.#spare.length < 2 && !this.#unavailable;
  }

  #open(): CommandPipe | undefined {
    for (let name = this.#spare.pop(); name !== undefined; name = this.#spare.pop()) {
      const path = join(this.#folder, name);
      try {
        const ours = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
        try {
          // The open descriptor is the same pipe for certain, and has a reader: this open never
          // blocks.
          const theirs = openSync(`/proc/self/fd/${ours}`, O_WRONLY);
          return { ours, theirs };
        } catch (error) {
          closeSync(ours);
          throw error;
        }
      } catch {
        // Code in the sandbox may have removed it.
      } finally {
        remove(path);
      }
    }
    return undefined;
  }

  async #fill(): Promise<void> {
    const names = Array.from({ length: BATCH }, () => String(this.#next++));
    const made = spawn('mkfifo', ['-m', '600', '--', ...names], { stdio: 'ignore', cwd: this.#folder });
    const code = await new Promise((resolve) => {
      made.once('exit', resolve);
      made.once('error', resolve);
    });
    let there: string[] = [];
    try {
      there = readdirSync(this.#folder).filter((name) => names.includes(name));
    } catch {
      // The folder is gone: no pipes.
    }
    this.#spare.push(...there);
    if (code !== 0 && there.length < 2) this.#unavailable = true;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Code in the sandbox removed it first.
  }
}

export function discard({ ours, theirs }: CommandPipe): void {
  closeSync(theirs);
  closeSync(ours);
}
