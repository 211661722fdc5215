import { finished, Readable } from 'node:stream';
import { UNREADABLE_TRAILER } from '#protocol/guest/files-protocol.ts';
import { readAgain } from '#base/reads.ts';
import { connectionLost, type GuestProvider } from './guest-files.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';

export interface PersistOptions {
  /** A folder of the workspace. @default the workspace itself */
  readonly path?: string;
  /** Paths below the folder to leave out. */
  readonly excludes?: readonly string[];
  /**
   * Whether each name of a file with several hard links has the contents. Otherwise only the first
   * has them, and the others are hard links. @default false
   */
  readonly copiesHardLinks?: boolean;
}

/** A folder as a tar, and how much is missing from it. */
export interface PersistedFolder {
  /** In tar format. */
  readonly tar: Readable;
  /**
   * How many files and folders are missing because the sandbox's own user may not read them. Valid
   * after the tar has ended. Its last entry names them.
   */
  readonly leftOut: () => number;
}

/** Read-ahead of a tar, in pieces of 64 KiB. */
const TAR_AHEAD = 8;

/**
 * A folder of the workspace as a plain tar stream. Resolves at the first byte. A later failure
 * fails the stream, so a part is never taken for the whole.
 * @throws PortholeError `invalid_request`, `path_outside_workspace`, `workspace_read_not_found`,
 * `workspace_archive_read_error`, and what `exec` throws
 */
export async function persistWorkspace(
  { sandboxes }: { readonly sandboxes: GuestProvider },
  sandboxId: string,
  { path = '/workspace', excludes = [], copiesHardLinks = false }: PersistOptions = {},
  signal?: AbortSignal,
): Promise<PersistedFolder> {
  const folder = resolveWorkspacePath(path, 'path');
  const fields = new URLSearchParams({ path: folder, ...(copiesHardLinks && { hard_links: 'copy' }) });
  for (const exclude of excludes) fields.append('exclude', exclude);
  const call = { method: 'GET', path: `/v1/tar?${fields.toString()}` } as const;
  // Retry is safe until the first byte: the caller has received nothing.
  const answer = await readAgain(() => sandboxes.callGuest(sandboxId, call, signal), signal);
  const tar = new Readable({
    // A byte stream would copy buffered pieces into one.
    objectMode: true,
    highWaterMark: TAR_AHEAD,
    read: () => void answer.resume(),
    destroy: (error, done) => {
      answer.destroy();
      done(error);
    },
  });
  answer.on('data', (piece: Buffer) => {
    if (!tar.push(piece)) answer.pause();
  });
  finished(answer, (error) => {
    if (error) tar.destroy(connectionLost(sandboxId, error));
    else tar.push(null);
  });
  // Without a listener an error would crash the process; the reader gets it as well.
  tar.on('error', () => undefined);
  const leftOut = () => {
    const said = answer.trailers[UNREADABLE_TRAILER] ?? '';
    return /^\d{1,9}$/.test(said) ? Number(said) : 0;
  };
  return { tar, leftOut };
}
