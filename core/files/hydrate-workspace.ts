import type { Readable } from 'node:stream';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { Remembered } from '../tar/archive-tree.ts';
import { unpackInGuest } from './guest-files.ts';

export interface HydrateOptions {
  /** @default all */
  readonly remembers?: Remembered;
}

/**
 * Symbolic links of an archive that lead out of the workspace. They are created unchanged, and
 * never followed; their targets may not exist.
 */
export interface OutsideLinks {
  /** The first of them. */
  readonly links: readonly { readonly path: string; readonly target: string }[];
  readonly total: number;
}

/**
 * Unpacks a plain tar over the workspace: existing files are replaced, others stay. The whole tar
 * is validated before anything is unpacked.
 * @throws PortholeError `invalid_request` for a rejected tar, `path_outside_workspace` if it would
 * follow a link out of the workspace, `workspace_archive_write_error`, or the stream's own error
 */
export async function hydrateWorkspace(
  { provider }: { readonly provider: Pick<Sandboxes, 'callGuest'> },
  sandboxId: string,
  content: Readable,
  { remembers = 'all' }: HydrateOptions = {},
  signal?: AbortSignal,
): Promise<OutsideLinks> {
  signal?.throwIfAborted();
  return (await unpackInGuest(provider, sandboxId, content, remembers, signal)).outside_links;
}
