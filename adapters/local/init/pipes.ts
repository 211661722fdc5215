import { spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Made at a time: enough for 32 commands, in one run of mkfifo. */
const BATCH = 64;

/** The two ends of a pipe: ours does not block, the command's does, as programs expect of their own. */
export interface Pipe {
  readonly ours: number;
  readonly theirs: number;
}

/**
 * Real pipes for what commands print. Node gives its children sockets, which nobody can open a second time: `echo oops > /dev/stderr`
 * fails on them. A named pipe that is unlinked as soon as it is open serves as an ordinary one. Not for stdin: opening
 * /dev/stdin again would wait for ever once all input is written.
 */
export class Pipes {
  readonly #parent: string;
  #spare: string[] = [];
  #filling: Promise<void> | undefined;

  constructor(parent: string) {
    this.#parent = parent;
    this.#filling = this.#fill();
  }

  /** Opens `count` pipes; none where they cannot be had. */
  async take(count: number): Promise<Pipe[]> {
    if (this.#spare.length < count) {
      this.#filling ??= this.#fill();
      await this.#filling;
    }
    const pipes: Pipe[] = [];
    try {
      for (const path of this.#spare.splice(0, count)) pipes.push(open(path));
      if (pipes.length === count) return pipes;
    } catch {
      // Somebody inside has meddled with them; this command goes without.
    }
    for (const { ours, theirs } of pipes) for (const end of [ours, theirs]) closeSync(end);
    return [];
  }

  async #fill(): Promise<void> {
    try {
      const folder = mkdtempSync(join(this.#parent, '.pipes-'));
      const paths = Array.from({ length: BATCH }, (_, number) => join(folder, String(number)));
      const made = spawn('mkfifo', ['-m', '600', '--', ...paths], { stdio: 'ignore', env: PATH });
      const code = await new Promise((resolve) => {
        made.once('exit', resolve);
        made.once('error', resolve);
      });
      if (code === 0) this.#spare.push(...paths);
    } catch {
      // No room, or no mkfifo: commands get sockets.
    }
    this.#filling = undefined;
  }
}

const PATH = { PATH: '/usr/bin:/bin' };

function open(path: string): Pipe {
  const ours = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  unlinkSync(path);
  // Through the open descriptor it is the same pipe for certain, and has a reader, so that opening it never blocks.
  return { ours, theirs: openSync(`/proc/self/fd/${ours}`, O_WRONLY) };
}
