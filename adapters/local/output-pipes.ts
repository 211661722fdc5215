import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { SYSTEM_PATH } from './spawn-sandbox.ts';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Made at a time: enough for 128 commands. To start mkfifo takes longer than mkfifo does. */
const BATCH = 256;
/** Fewer than these are too few for a burst of commands. */
const FEW = 64;

/** Where the pipes of a sandbox's commands are put. */
export interface PipePlace {
  /** A folder that only the host may change. */
  readonly folder: string;
  /** The same folder as the sandbox's init sees it. */
  readonly inside: string;
  /** The uid that commands run as, where it is not the host's. */
  readonly owner: number | undefined;
}

/** A pipe that waits for its command. */
export interface OutputPipe {
  /** The reading end, which does not block. */
  readonly descriptor: number;
  /** Where the init opens the other one. */
  readonly inside: string;
  /** Takes the name away: nobody can open it any more who has not. */
  unlink(): void;
}

/**
 * Named pipes for what commands print. The host holds one end and the command the other, so that the bytes go by nobody else, and a reader that stops stops the command; and unlike the sockets that Node
 * gives its children, a pipe can be opened a second time: `echo oops > /dev/stderr`. Not for stdin: opening /dev/stdin again would wait for ever once all input is written.
 */
export class OutputPipes {
  readonly #folder: string;
  readonly #spare: string[] = [];
  #filling: Promise<boolean> | undefined;

  /** @param folder for those that are made ahead; those that an earlier host left are taken over */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes some ahead where few are left, so that no command waits for them. Never rejects. */
  prepare(): void {
    if (process.platform === 'linux' && this.#spare.length < FEW) void this.#fill();
  }

  /** Opens two pipes, for stdout and stderr; undefined where they cannot be had, e.g. without mkfifo. */
  async take(place: PipePlace): Promise<readonly [OutputPipe, OutputPipe] | undefined> {
    if (process.platform !== 'linux') return undefined;
    while (this.#spare.length < 2) {
      if (!(await this.#fill())) return undefined;
    }
    const stdout = this.#open(place);
    const stderr = this.#open(place);
    this.prepare();
    if (stdout !== undefined && stderr !== undefined) return [stdout, stderr];
    for (const pipe of [stdout, stderr]) {
      if (pipe === undefined) continue;
      pipe.unlink();
      closeSync(pipe.descriptor);
    }
    return undefined;
  }

  /** Resolves once no more are being made. */
  async close(): Promise<void> {
    await this.#filling;
  }

  #open({ folder, inside, owner }: PipePlace): OutputPipe | undefined {
    for (let name = this.#spare.pop(); name !== undefined; name = this.#spare.pop()) {
      const path = join(folder, name);
      const unlink = (): void => rmSync(path, { force: true });
      try {
        renameSync(join(this.#folder, name), path);
        if (owner !== undefined) chownSync(path, owner, owner);
        const descriptor = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
        return { descriptor, inside: join(inside, name), unlink };
      } catch (error) {
        unlink();
        // Another host with the same data may have taken it; anything else would happen to the next one, too.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return undefined;
      }
    }
    return undefined;
  }

  /** One at a time. False when there are none to be had. */
  #fill(): Promise<boolean> {
    this.#filling ??= this.#more().finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  async #more(): Promise<boolean> {
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      const left = readdirSync(this.#folder).filter((name) => !this.#spare.includes(name));
      this.#spare.push(...left);
      if (this.#spare.length >= FEW) return true;
      const made = await this.#make();
      this.#spare.push(...made);
      return made.length > 0;
    } catch {
      // No room: output comes by way of the init.
      return false;
    }
  }

  async #make(): Promise<string[]> {
    const names = Array.from({ length: BATCH }, () => `output-${randomBytes(8).toString('hex')}`);
    const paths = names.map((name) => join(this.#folder, name));
    const made = spawn('mkfifo', ['-m', '600', '--', ...paths], { stdio: 'ignore', env: SYSTEM_PATH });
    const code = await new Promise((resolve) => {
      made.once('exit', resolve);
      made.once('error', resolve);
    });
    return code === 0 ? names : [];
  }
}
