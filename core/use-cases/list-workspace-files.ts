import { randomBytes } from 'node:crypto';
import type { ExecProcess, SandboxProvider } from '../ports/sandbox-provider.ts';
import { type FileEntry, fileEntryOf, readFileListing } from '../rules/file-listing.ts';
import { belowWorkspace, resolveWorkspacePath } from '../rules/workspace-path.ts';
import { listInGuest, readGuestList } from './guest-files.ts';
import { readAgain } from './read-again.ts';
import { IN_FOLDER, UNDER_WAY, watchScript } from './workspace-script.ts';

/** In bytes: ten thousand names of usual length. */
const MOST_OUTPUT = 4 * 1_048_576;
/** The longest that a listing may take, in milliseconds: a disk that hangs never ends. */
const LISTS_WITHIN_MS = 30_000;

/**
 * What is below a folder, `$1` levels deep, each after the mark `$2`. What disappears meanwhile, and what is in folders that may not be read, is not in it.
 */
const LIST = `${IN_FOLDER}
command -v find >/dev/null && command -v stat >/dev/null || { echo 'its image has no find, or no stat' >&2; exit 46; }
[ -r . ] && [ -x . ] || { echo 'Permission denied' >&2; exit 46; }
# Below other commands of the machine: a listing of many files is work that can wait.
nice=
command -v nice >/dev/null && nice -n 10 true 2>/dev/null && nice='nice -n 10'
$nice find . -mindepth 1 -maxdepth "$1" -name '${UNDER_WAY}' -prune -o -exec stat -c "$2%f %s %Y %n" -- {} + 2>/dev/null
exit 0
`;

export interface ListOptions {
  /** 1: what is in the folder itself. */
  readonly depth: number;
  /** Entries beyond are left out, and it is said so. */
  readonly most: number;
}

/** What the sandbox said of a folder: not parsed yet, because that takes a while for many files. */
export interface Listing {
  readonly said: Uint8Array;
  /** Before each entry; undefined: the guest's lines. */
  readonly mark: string | undefined;
  readonly folder: string;
  /** It had more to say. */
  readonly isTooMuch: boolean;
}

/**
 * What is below a folder of the workspace, by path. `isCut`: there is more.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`, `workspace_archive_read_error`, and what `exec` refuses
 */
export async function listWorkspaceFiles(
  deps: { readonly provider: Pick<SandboxProvider, 'exec' | 'callGuest'> },
  sandboxId: string,
  path: string,
  { depth, most }: ListOptions,
  signal?: AbortSignal,
): Promise<{ readonly entries: readonly FileEntry[]; readonly isCut: boolean }> {
  return filesOfListing(await readListing(deps, sandboxId, path, { depth }, signal), most);
}

export function filesOfListing(
  { said, mark, folder, isTooMuch }: Listing,
  most: number,
): { readonly entries: readonly FileEntry[]; readonly isCut: boolean } {
  const bytes = Buffer.from(said.buffer, said.byteOffset, said.byteLength);
  if (mark === undefined) {
    const { entries, isWhole } = readGuestList(bytes, folder);
    return { entries: entries.slice(0, most).map(fileEntryOf), isCut: !isWhole || entries.length > most };
  }
  const entries = readFileListing(bytes, mark, folder);
  return { entries: entries.slice(0, most), isCut: isTooMuch || entries.length > most };
}

/** @throws as `listWorkspaceFiles` does */
export async function readListing(
  { provider }: { readonly provider: Pick<SandboxProvider, 'exec' | 'callGuest'> },
  sandboxId: string,
  path: string,
  { depth }: Pick<ListOptions, 'depth'>,
  signal?: AbortSignal,
): Promise<Listing> {
  const folder = resolveWorkspacePath(path, 'path');
  if (provider.callGuest !== undefined) {
    const { listing, isTooMuch } = await readAgain(
      () => listInGuest(provider, sandboxId, folder, depth, MOST_OUTPUT, signal),
      signal,
    );
    return { said: listing, mark: undefined, folder, isTooMuch };
  }
  const mark = `${randomBytes(16).toString('hex')} `;
  const command = { argv: ['sh', '-c', LIST, 'sh', belowWorkspace(folder), String(depth), mark] } as const;
  const { listing, isTooMuch } = await readAgain(
    async () => listed(await provider.exec(sandboxId, command, signal), folder),
    signal,
  );
  return { said: listing, mark, folder, isTooMuch };
}

async function listed(
  process: ExecProcess,
  folder: string,
): Promise<{ readonly listing: Buffer; readonly isTooMuch: boolean }> {
  const late = setTimeout(() => process.kill('SIGKILL'), LISTS_WITHIN_MS);
  try {
    const script = watchScript(process);
    const parts: Buffer[] = [];
    let length = 0;
    for await (const part of process.stdout as AsyncIterable<Buffer>) {
      parts.push(part);
      length += part.length;
      if (length > MOST_OUTPUT) break;
    }
    const isTooMuch = length > MOST_OUTPUT;
    if (isTooMuch) process.kill('SIGKILL');
    else if ((await process.exited).code !== 0) {
      throw await script.failure(folder, 'workspace_archive_read_error', 'read failed');
    }
    return { listing: Buffer.concat(parts), isTooMuch };
  } finally {
    clearTimeout(late);
  }
}
