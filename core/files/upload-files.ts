import { Readable } from 'node:stream';
import { frameHead } from '#base/frames.ts';
import { type FileMetadata, MAX_UPLOAD_FRAME, UPLOAD } from '#protocol/guest/files-protocol.ts';
import { PortholeError } from '#base/errors.ts';
import { done, type GuestProvider, query, send, UNPACKS_WITHIN_MS } from './guest-files.ts';
import { metadataField } from './workspace-files.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';

export interface UploadedFile {
  /** Relative to the upload's folder. */
  readonly filename: string;
  readonly stream: AsyncIterable<Buffer>;
}

export interface WrittenFile {
  /** Absolute. */
  readonly path: string;
  /** In bytes. */
  readonly size: number;
}

/** Read-ahead of the frames, in pieces of 64 KiB and their heads. */
const AHEAD = 4;

/**
 * Writes files from streams into a folder of the workspace, all or none, in one request. Replaces
 * existing files, and creates missing folders.
 * @throws PortholeError `invalid_request`, `path_outside_workspace`,
 * `workspace_archive_write_error`, or the error of a file's stream
 */
export async function uploadFiles(
  { sandboxes }: { readonly sandboxes: GuestProvider },
  sandboxId: string,
  path: string,
  files: AsyncIterable<UploadedFile>,
  signal?: AbortSignal,
  metadata?: FileMetadata,
): Promise<readonly WrittenFile[]> {
  const folder = resolveWorkspacePath(path, 'path');
  const written: WrittenFile[] = [];
  const call = {
    method: 'POST',
    path: `/v1/upload?${query({ path: folder, ...metadataField(metadata) })}`,
    answerWithin: UNPACKS_WITHIN_MS,
  } as const;
  // A byte stream would copy buffered pieces into one, which is garbage that V8 collects late.
  const content = Readable.from(frames(files, folder, written), { highWaterMark: AHEAD });
  await send(sandboxes, sandboxId, call, content, done, signal);
  return written;
}

async function* frames(
  files: AsyncIterable<UploadedFile>,
  folder: string,
  written: WrittenFile[],
): AsyncGenerator<Buffer, void, undefined> {
  const paths = new Set<string>();
  for await (const { filename, stream } of files) {
    const path = destination(folder, filename);
    if (paths.has(path))
      throw new PortholeError('invalid_request', `The form contains ${path} twice`, {
        remedy: 'name each file once.',
      });
    paths.add(path);
    const name = Buffer.from(path.slice(folder.length + 1));
    yield Buffer.concat([frameHead(UPLOAD.file, name.length), name]);
    let size = 0;
    for await (const chunk of stream) {
      size += chunk.length;
      for (let at = 0; at < chunk.length; at += MAX_UPLOAD_FRAME) {
        const piece = chunk.subarray(at, at + MAX_UPLOAD_FRAME);
        yield frameHead(UPLOAD.contents, piece.length);
        yield piece;
      }
    }
    written.push({ path, size });
  }
  if (paths.size === 0) {
    throw new PortholeError('invalid_request', 'There is no file in the form', {
      remedy: 'add parts with a filename.',
    });
  }
  yield frameHead(UPLOAD.end, 0);
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
