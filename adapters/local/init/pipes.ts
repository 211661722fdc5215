import { closeSync, constants, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** A pipe that the host reads. */
export interface Pipe {
  /** Our own reading end: no command is ended by SIGPIPE, or held up, because the host has gone. */
  readonly ours: number;
  /** The command's end, which blocks, as programs expect. */
  readonly theirs: number;
}

/** Opens the named pipes that the host made for a command; none where one of them cannot be opened. */
export function openPipes(paths: readonly string[]): Pipe[] {
  const pipes: Pipe[] = [];
  try {
    for (const path of paths) {
      const ours = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
      try {
        // Through the open descriptor it is the same pipe for certain, and has a reader, so that opening it never blocks.
        pipes.push({ ours, theirs: openSync(`/proc/self/fd/${ours}`, O_WRONLY) });
      } catch (error) {
        closeSync(ours);
        throw error;
      }
    }
    return pipes;
  } catch {
    for (const { ours, theirs } of pipes) for (const end of [ours, theirs]) closeSync(end);
    return [];
  }
}

const PIECE = Buffer.allocUnsafe(64 * 1024);

/** Reads on and throws away, until nobody holds the other end any more. */
export function discard(ours: number): void {
  try {
    // Most commands leave nothing behind that could write: this is the end already.
    if (readSync(ours, PIECE) === 0) return closeSync(ours);
  } catch {
    // Nothing to read for now.
  }
  const rest = new Socket({ fd: ours, writable: false });
  rest.on('error', () => {});
  rest.resume();
}
