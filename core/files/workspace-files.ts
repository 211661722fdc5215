import { Readable } from 'node:stream';
import type { FileMetadata } from '#protocol/guest/files-protocol.ts';
import { newDetailId } from '#protocol/guest/details-protocol.ts';
import { type Caller, performerOf } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { SandboxEventPublisher } from '../sandboxes/sandbox-event-publisher.ts';
import { isConnectionLost, readAgain } from '#base/reads.ts';
import { connectionLost, done, type GuestProvider, query, send } from './guest-files.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';

export interface FileDeps {
  readonly sandboxes: GuestProvider;
}

/** Bytes of a file: those from `from` to before `to`. */
export interface FilePart {
  readonly from: number;
  readonly to: number;
}

/** An open file. */
export interface WorkspaceFile {
  /** Fails unless the whole file arrives. */
  readonly content: Readable;
  /** Bytes of `content`, when it was opened. */
  readonly size: number;
}

/**
 * The bytes of a file, as a stream. Resolves once the file is open, so a missing file is an error
 * and not an empty stream. After a lost connection the read resumes where it was, if the file is
 * unchanged. If the file grows, only the bytes that it had when it was opened are read.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `exec_transport_error`
 */
export async function readWorkspaceFile(
  { sandboxes }: FileDeps,
  sandboxId: string,
  path: string,
  signal?: AbortSignal,
  part?: FilePart,
): Promise<WorkspaceFile> {
  const absolute = resolveWorkspacePath(path, 'path');
  const open = (from: number) =>
    readAgain(() => openAt(sandboxes, sandboxId, absolute, { from, to: part?.to }, signal), signal);
  const first = part?.from ?? 0;
  let file = await open(first);
  const { size, version } = file;

  async function* read(): AsyncGenerator<Buffer, void, undefined> {
    for (let at = first, resumedAt = -1; ; ) {
      try {
        for await (const chunk of file.bytes as AsyncIterable<Buffer>) {
          const piece = chunk.subarray(0, size - at);
          at += piece.length;
          yield piece;
          if (piece.length < chunk.length) return;
        }
        if (at === size) return;
        throw new PortholeError(
          'exec_transport_error',
          `read failed: ${absolute}: ${at} of ${size} bytes. It was truncated while it was read`,
          { remedy: 'read it again.' },
        );
      } catch (error) {
        if (at === size) return;
        const failed = connectionLost(sandboxId, error);
        if (resumedAt === at || !isConnectionLost(failed) || file.bytes.readableEnded) throw failed;
        resumedAt = at;
        // Report the original failure, not the file's state now: the read began on an intact file.
        file = await open(at).catch((error: unknown) => {
          throw isConnectionLost(error) ? error : failed;
        });
        if (content.destroyed || file.version !== version) {
          file.bytes.destroy();
          throw failed;
        }
      }
    }
  }

  const content = Readable.from(read(), { objectMode: false });
  // Without a listener an error would crash the process; the reader gets it as well.
  content.on('error', () => undefined);
  // Unblocks the generator if it waits for bytes that never come.
  content.once('close', () => file.bytes.destroy());
  return { content, size: size - first };
}

/** Opens a file at an offset. The bytes fail unless all announced ones arrive. */
async function openAt(
  sandboxes: GuestProvider,
  sandboxId: string,
  absolute: string,
  { from, to }: { readonly from: number; readonly to: number | undefined },
  signal?: AbortSignal,
): Promise<{ readonly bytes: Readable; readonly size: number; readonly version: string }> {
  const isPart = from > 0 || to !== undefined;
  const headers = isPart ? { range: `bytes=${from}-${to === undefined ? '' : to - 1}` } : {};
  const call = { method: 'GET', path: `/v1/files?${query({ path: absolute })}`, headers } as const;
  const answer = await sandboxes.callGuest(sandboxId, call, signal);
  const { 'content-length': length = '', etag } = answer.headers;
  if (!/^\d{1,15}$/.test(length) || answer.statusCode !== (isPart ? 206 : 200) || etag === undefined) {
    answer.destroy();
    throw connectionLost(sandboxId, new Error('its guest violates the protocol'));
  }
  return { bytes: answer, size: from + Number(length), version: etag };
}

interface WriteOptions {
  readonly signal?: AbortSignal | undefined;
  /** The guest keeps what was changed under this id: 32 hex digits. */
  readonly detailId?: string | undefined;
  /** @default none */
  readonly metadata?: FileMetadata | undefined;
}

/**
 * Writes a file from a stream, all or nothing: into a temporary file beside it, then renamed.
 * @throws PortholeError `path_outside_workspace`, `invalid_request`,
 * `workspace_archive_write_error`, or the stream's own error
 */
export async function writeWorkspaceFile(
  { sandboxes }: FileDeps,
  sandboxId: string,
  path: string,
  content: Readable,
  { signal, detailId, metadata }: WriteOptions = {},
): Promise<void> {
  const absolute = resolveWorkspacePath(path, 'path');
  const fields = {
    path: absolute,
    ...(detailId !== undefined && { detail_id: detailId }),
    ...metadataField(metadata),
  };
  const call = { method: 'PUT', path: `/v1/files?${query(fields)}` } as const;
  await send(sandboxes, sandboxId, call, content, done, signal);
}

/** For a request that writes files. */
export function metadataField(metadata: FileMetadata | undefined): { readonly metadata?: string } {
  return metadata === undefined ? {} : { metadata: JSON.stringify(metadata) };
}

/** Writes a file for a caller, and publishes that with the id under which the change is kept. */
export async function changeWorkspaceFile(
  deps: FileDeps & { readonly publisher: Pick<SandboxEventPublisher, 'publish'> },
  { caller, sandboxId, path }: { readonly caller: Caller; readonly sandboxId: string; readonly path: string },
  content: Readable,
  signal?: AbortSignal,
  metadata?: FileMetadata,
): Promise<void> {
  const detailId = newDetailId();
  await writeWorkspaceFile(deps, sandboxId, path, content, { signal, detailId, metadata });
  deps.publisher.publish(sandboxId, 'file_written', {
    path: resolveWorkspacePath(path, 'path'),
    detail: detailId,
    ...performerOf(caller),
  });
}
