import fs from 'node:fs';
import { promisify } from 'node:util';
import { resolveWorkspacePath } from '../../base/workspace-path.ts';
import { at } from './at-calls.ts';
import { direct, errno, READ } from './descriptors.ts';
import { failure, invalid, isFolder, notFound } from './failures.ts';
import type { Workspace } from './workspace.ts';

const readPooled = promisify(fs.read);
const fstatPooled = promisify(fs.fstat);

export interface OpenedFile {
  readonly descriptor: number;
  readonly size: number;
  /** Unchanged until the file is written to: suitable for an entity tag (RFC 9110 §8.8.3). */
  readonly version: string;
}

/**
 * Opens a file. Checks the opened file, not its name (TOCTOU).
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `exec_transport_error`
 */
export async function openFile(workspace: Workspace, path: string): Promise<OpenedFile> {
  const absolute = resolveWorkspacePath(path, 'path');
  let descriptor: number | undefined;
  try {
    using place = await workspace.walk(path);
    if (place.stat === undefined) throw notFound(absolute, 'read');
    if (place.stat.isDirectory()) throw isFolder(absolute);
    if (!place.stat.isFile()) throw irregular(absolute);
    descriptor = await place.calls.open(at(place.directory, place.name), READ);
    const stat =
      place.calls === direct
        ? fs.fstatSync(descriptor, { bigint: true })
        : await fstatPooled(descriptor, { bigint: true });
    if (!stat.isFile()) throw irregular(absolute);
    const { dev, ino, mtimeNs, ctimeNs, size } = stat;
    const version = [dev, ino, mtimeNs, ctimeNs, size].map((part) => part.toString(36)).join('-');
    return { descriptor, size: Number(size), version };
  } catch (error) {
    if (descriptor !== undefined) fs.closeSync(descriptor);
    // Replaced by a link, or removed, since the check.
    if (errno(error) === 'ELOOP' || errno(error) === 'ENOENT') throw notFound(absolute, 'read');
    throw failure(error, path, 'read');
  }
}

/** In bytes: few calls, and little memory if many files are read at once. */
const PIECE = 128 * 1024;

/**
 * Yields the bytes from `from` to `to`, and closes the file.
 * @throws Error if the file has become shorter
 */
export async function* readPieces(
  { descriptor }: OpenedFile,
  from: number,
  to: number,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    for (let position = from; position < to; ) {
      const buffer = Buffer.allocUnsafe(Math.min(PIECE, to - position));
      const { bytesRead } = await readPooled(descriptor, buffer, 0, buffer.length, position);
      if (bytesRead === 0) throw new Error(`the file became shorter than ${to} bytes while it was read`);
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    fs.closeSync(descriptor);
  }
}

const irregular = (absolute: string) => invalid(`${absolute} is no regular file: only those can be read.`);
