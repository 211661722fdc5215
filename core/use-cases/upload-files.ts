import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { PortholeError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { tarMember, tarPadding } from '../rules/archive/tar-writer.ts';
import { belowWorkspace, resolveWorkspacePath } from '../rules/workspace-path.ts';
import { uploadToGuest } from './guest-files.ts';
import { hydrateWorkspace } from './hydrate-workspace.ts';

/** A file on its way into the sandbox. */
export interface UploadedFile {
  /** Relative to the folder that all of them go to. */
  readonly filename: string;
  readonly stream: AsyncIterable<Buffer>;
}

/** One that has arrived. */
export interface WrittenFile {
  /** Absolute. */
  readonly path: string;
  /** In bytes. */
  readonly size: number;
}

/** How much of a file is held at a time, in bytes: a tar tells the size of what follows before it follows. */
const PIECE = 1_048_576;

/**
 * Writes files from streams into a folder of the workspace, all of them or none, in one command however many there are: they go in as a tar that is made on the way, and are judged and moved to their places as those of an archive. Files that are there are
 * replaced, folders that are missing made.
 * @throws PortholeError `invalid_request`, `path_outside_workspace`, `workspace_archive_write_error`, or what the files' own streams fail with
 */
export async function uploadFiles(
  deps: { readonly provider: Pick<SandboxProvider, 'exec' | 'callGuest'>; readonly clock: Clock },
  sandboxId: string,
  path: string,
  files: AsyncIterable<UploadedFile>,
  signal?: AbortSignal,
): Promise<readonly WrittenFile[]> {
  const folder = resolveWorkspacePath(path, 'path');
  if (deps.provider.callGuest !== undefined) {
    const written: WrittenFile[] = [];
    await uploadToGuest(deps.provider, sandboxId, folder, placed(files, folder, written), signal);
    return written;
  }
  const pieces = randomBytes(8).toString('hex');
  const written: WrittenFile[] = [];
  const mtime = Math.floor(deps.clock.now().getTime() / 1_000);
  const tar = Readable.from(uploadTar(files, folder, `.porthole-${pieces}`, mtime, written));
  await hydrateWorkspace(deps, sandboxId, tar, { pieces }, signal);
  return written;
}

/** Each with its path below the folder; counts what has gone by. */
async function* placed(
  files: AsyncIterable<UploadedFile>,
  folder: string,
  written: WrittenFile[],
): AsyncGenerator<{ readonly name: string; readonly stream: AsyncIterable<Buffer> }, void, undefined> {
  const paths = new Set<string>();
  for await (const { filename, stream } of files) {
    const path = newDestination(folder, filename, paths);
    let size = 0;
    async function* counted(): AsyncGenerator<Buffer, void, undefined> {
      for await (const chunk of stream) {
        size += chunk.length;
        yield chunk;
      }
    }
    yield { name: path.slice(folder.length + 1), stream: counted() };
    written.push({ path, size });
  }
  if (paths.size === 0) throw noFiles();
}

/** A file of several pieces is its first one; the others lie in a folder of their own, beside a hard link to it that they are appended to. */
async function* uploadTar(
  files: AsyncIterable<UploadedFile>,
  folder: string,
  pieces: string,
  mtime: number,
  written: WrittenFile[],
): AsyncGenerator<Buffer, void, undefined> {
  const paths = new Set<string>();
  for await (const { filename, stream } of files) {
    const path = newDestination(folder, filename, paths);
    const name = belowWorkspace(path);
    const aside = `${pieces}/${paths.size}`;
    let size = 0;
    let count = 0;
    for await (const piece of inPieces(stream)) {
      if (count === 1) yield tarMember({ name: `${aside}/to`, linkName: name, mtime });
      const member = count === 0 ? name : `${aside}/${count}`;
      yield Buffer.concat([
        tarMember({ name: member, size: piece.length, mtime }),
        piece,
        tarPadding(piece.length),
      ]);
      size += piece.length;
      count += 1;
    }
    written.push({ path, size });
  }
  if (paths.size === 0) throw noFiles();
}

function noFiles(): PortholeError {
  return new PortholeError('invalid_request', 'There is no file in the form: add parts with a filename.');
}

/** @throws PortholeError as `destination` does, and for a path that is among those known already */
function newDestination(folder: string, filename: string, paths: Set<string>): string {
  const path = destination(folder, filename);
  if (paths.has(path))
    throw new PortholeError('invalid_request', `${path} is there twice: name each file once.`);
  paths.add(path);
  return path;
}

/** @throws PortholeError `path_outside_workspace` for a name that leaves the folder, `invalid_request` for one that is none of a file */
function destination(folder: string, filename: string): string {
  if (filename === '' || /(?:^|\/)\.{0,2}$/.test(filename)) {
    throw new PortholeError(
      'invalid_request',
      `filename ${JSON.stringify(filename.slice(0, 100))} names no file.`,
    );
  }
  const path = resolveWorkspacePath(`${folder}/${filename}`, 'path');
  if (path.startsWith(`${folder}/`) && !filename.startsWith('/')) return path;
  throw new PortholeError(
    'path_outside_workspace',
    `filename ${JSON.stringify(filename.slice(0, 100))} must be relative, and stay in ${folder}`,
  );
}

/** At least one, which is empty where there is nothing. */
async function* inPieces(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let held: Buffer[] = [];
  let length = 0;
  let count = 0;
  for await (const chunk of stream) {
    held.push(chunk);
    length += chunk.length;
    if (length < PIECE) continue;
    yield Buffer.concat(held);
    held = [];
    length = 0;
    count += 1;
  }
  if (length > 0 || count === 0) yield Buffer.concat(held);
}
