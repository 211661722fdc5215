import { closeSync } from 'node:fs';
import { loadLibrary } from './protocol/foreign-calls.ts';

const O_CLOEXEC = 0o2000000;

/** One stream of a command's output. */
export interface CommandPipe {
  /** The guest's end. */
  readonly ours: number;
  /** The command's end, blocking as programs expect; close it once the command has it. */
  readonly theirs: number;
}

let pipe2: ((descriptors: Buffer, flags: number) => number) | undefined;

/**
 * Pipes for the output of a command. Node gives its children sockets, and a socket cannot be opened
 * a second time: `echo oops > /dev/stderr` fails on one. Undefined without the foreign calls, or
 * without free descriptors.
 */
export function openOutputPipes(): readonly [CommandPipe, CommandPipe] | undefined {
  try {
    pipe2 ??= loadLibrary().func('pipe2', 'int', ['void *', 'int']);
  } catch {
    pipe2 = () => -1;
  }
  const stdout = openPipe(pipe2);
  const stderr = stdout && openPipe(pipe2);
  if (stdout !== undefined && stderr !== undefined) return [stdout, stderr];
  if (stdout !== undefined) discard(stdout);
  return undefined;
}

function openPipe(make: NonNullable<typeof pipe2>): CommandPipe | undefined {
  const descriptors = Buffer.alloc(8);
  if (make(descriptors, O_CLOEXEC) !== 0) return undefined;
  return { ours: descriptors.readInt32LE(0), theirs: descriptors.readInt32LE(4) };
}

export function discard({ ours, theirs }: CommandPipe): void {
  closeSync(theirs);
  closeSync(ours);
}
