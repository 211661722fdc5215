/**
 * Code in the sandbox can replace the guest's own files: by a pipe that blocks on open, a link to
 * an endless device, or a file larger than the memory. None of these may block the guest.
 */
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

/** @throws Error if it is not a regular file or has more than `most` bytes */
export function readPlain(path: string | Buffer, most: number): Buffer {
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new Error(`${String(path)} is no file`);
    if (found.size > most) throw new Error(`${String(path)} has ${found.size} bytes, more than ${most}`);
    const content = Buffer.allocUnsafe(found.size);
    return content.subarray(0, readSync(file, content, 0, content.length, 0));
  } finally {
    closeSync(file);
  }
}

/** A new or truncated file, open for writing. @throws Error if it is not a regular file */
export function openPlain(path: string): number {
  const file = openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0o600);
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error(`${path} is no file`);
}

/** Replaces a file atomically, and creates its folder. @throws Error if that fails */
export function replacePlain(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = openPlain(`${path}.new`);
  try {
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
}
