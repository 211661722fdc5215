import type { Readable } from 'node:stream';
import type { SandboxProvider } from '../sandboxes/sandbox-provider.ts';
import type { Remembered } from '../tar/archive-tree.ts';
import { unpackInGuest } from './guest-files.ts';

export interface HydrateOptions {
  /** @default all */
  readonly remembers?: Remembered;
}

/**
 * Symbolic links of an archive that lead out of the workspace. They are made as they are, and never
 * followed; what they lead to may not be there.
 */
export interface OutsideLinks {
  /** The first of them. */
  readonly links: readonly { readonly path: string; readonly target: string }[];
  readonly total: number;
}

/**
 * Unpacks a plain tar over the workspace: files that are there already are replaced, others stay.
 * It is read to its end and judged before anything of it is unpacked.
 * @throws PortholeError `invalid_request` for one that is refused, `path_outside_workspace` where
 * it would go through a link of the workspace that leaves it, `workspace_archive_write_error`, or
 * the stream's own error
 */
export async function hydrateWorkspace(
  { provider }: { readonly provider: Pick<SandboxProvider, 'callGuest'> },
  sandboxId: string,
  content: Readable,
  { remembers = 'all' }: HydrateOptions = {},
  signal?: AbortSignal,
): Promise<OutsideLinks> {
  signal?.throwIfAborted();
  return (await unpackInGuest(provider, sandboxId, content, remembers, signal)).outside_links;
}
