import { PortholeError } from '../errors.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { resolveWorkspacePath } from './workspace-path.ts';
import { uploadToGuest } from './guest-files.ts';

/** A file to upload. */
export interface UploadedFile {
  /** Relative to the upload's folder. */
  readonly filename: string;
  readonly stream: AsyncIterable<Buffer>;
}

/** An uploaded file. */
export interface WrittenFile {
  /** Absolute. */
  readonly path: string;
  /** In bytes. */
  readonly size: number;
}

/**
 * Writes files from streams into a folder of the workspace, all or none, in one request. Replaces
 * existing files, and creates missing folders.
 * @throws PortholeError `invalid_request`, `path_outside_workspace`,
 * `workspace_archive_write_error`, or the error of a file's stream
 */
export async function uploadFiles(
  { provider }: { readonly provider: Pick<Sandboxes, 'callGuest'> },
  sandboxId: string,
  path: string,
  files: AsyncIterable<UploadedFile>,
  signal?: AbortSignal,
): Promise<readonly WrittenFile[]> {
  const folder = resolveWorkspacePath(path, 'path');
  const written: WrittenFile[] = [];
  await uploadToGuest(provider, sandboxId, folder, placed(files, folder, written), signal);
  return written;
}

/** Adds each file's path relative to the folder; counts the bytes. */
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

function noFiles(): PortholeError {
  return new PortholeError('invalid_request', 'There is no file in the form', {
    remedy: 'add parts with a filename.',
  });
}

/** @throws PortholeError as `destination` does, and for a duplicate path */
function newDestination(folder: string, filename: string, paths: Set<string>): string {
  const path = destination(folder, filename);
  if (paths.has(path))
    throw new PortholeError('invalid_request', `${path} is there twice`, { remedy: 'name each file once.' });
  paths.add(path);
  return path;
}

/**
 * @throws PortholeError `path_outside_workspace` for a name that leaves the folder,
 * `invalid_request` for a name that cannot be a file
 */
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
