import { createHash } from 'node:crypto';
import { lstat, mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { IgnoreRules, isExcluded } from '../../node/ignore-rules.ts';
import { syncPlace } from '../../node/sync-folder.ts';
import { SyncMemory } from '../../node/sync-memory.ts';
import type { FileChange } from '../../resources/files.ts';
import type { Sandbox } from '../../resources/sandbox.ts';
import type { EditsOptions } from './folder-edits.ts';

/** Limit of a file that is brought, in bytes. */
const MAX_FILE_BYTES = 33_554_432;

/**
 * Brings edits of files in a sandbox to a folder here, until the signal aborts. A file that has
 * changed here since it was sent stays. Names and contents are the sandbox's: nothing is written
 * outside the folder, or through a link. Never rejects.
 */
export async function bringEdits(sandbox: Sandbox, folder: string, options: EditsOptions): Promise<void> {
  const { signal, note } = options;
  try {
    const bring = await bringerOf(sandbox, folder, options);
    const from = `/workspace/${options.to ?? ''}`.replace(/\/$/, '');
    while (!signal.aborted) {
      // A watch ends after an hour.
      for await (const change of sandbox.files.watch(from, { signal })) {
        if (change.type === 'ready') await note('Edits in the sandbox come here');
        if (change.type === 'overflow') await note('Some edits in the sandbox were too fast to follow');
        const path = pathOf(change, from);
        if (path !== undefined) await bring(path, change);
      }
    }
  } catch (error) {
    if (!signal.aborted) await note(`Edits in the sandbox are not followed: ${(error as Error).message}`);
  }
}

async function bringerOf(
  sandbox: Sandbox,
  folder: string,
  { to, excludes, signal, note }: EditsOptions,
): Promise<(path: string, change: FileChange) => Promise<void>> {
  const root = await realpath(folder);
  const rules = await IgnoreRules.read(root, excludes);
  const place = await syncPlace(sandbox, root, to, signal);
  const memory = new SyncMemory();
  /** SHA-256 of what was brought, which the next sync records. */
  const brought = new Map<string, string>();

  const bring = async (path: string, { type, path: there, file }: FileChange): Promise<void> => {
    const target = join(root, path);
    await refuseLinks(root, dirname(target));
    const here = await contentOf(target);
    if (type === 'changed' && (file?.size ?? 0) > MAX_FILE_BYTES) throw new Error('it has more than 32 MiB');
    const theirs = type === 'deleted' ? undefined : Buffer.from(await sandbox.files.bytes(there, { signal }));
    if (here === theirs || (here !== undefined && theirs !== undefined && here.equals(theirs))) return;
    const sent = (await memory.recall(place)).entries.get(path);
    const known = [sent?.type === 'file' ? sent.digest : undefined, brought.get(path)];
    if (here !== undefined && !known.includes(digestOf(here)))
      return note(`Kept ${path}: it has changed here, too`);
    if (theirs === undefined) await rm(target, { force: true });
    else {
      await mkdir(dirname(target), { recursive: true });
      brought.set(path, digestOf(theirs));
      await writeFile(target, theirs);
    }
    await note(`From the sandbox: ${path}${theirs === undefined ? ' removed' : ''}`);
  };
  return async (path, change) => {
    try {
      if (await isExcluded(rules, path)) return;
      await bring(path, change);
    } catch (error) {
      signal.throwIfAborted();
      await note(`An edit in the sandbox was not synced: ${path}, ${(error as Error).message}`);
    }
  };
}

function digestOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The path of a file below a folder of the sandbox; undefined for anything else. */
function pathOf({ type, path, file }: FileChange, from: string): string | undefined {
  if (type !== 'deleted' && (type !== 'changed' || file?.type !== 'file')) return undefined;
  if (!path.startsWith(`${from}/`)) return undefined;
  const parts = path.slice(from.length + 1).split('/');
  return parts.some((part) => ['', '.', '..'].includes(part)) ? undefined : parts.join('/');
}

/** A link among the folders may lead out of the root. */
async function refuseLinks(root: string, folder: string): Promise<void> {
  let nearest = folder;
  while ((await lstat(nearest).catch(() => undefined)) === undefined) nearest = dirname(nearest);
  const real = await realpath(nearest);
  if (real !== root && !real.startsWith(`${root}${sep}`)) throw new Error('a link here leads elsewhere');
}

/** The content of a file; undefined if it does not exist. */
async function contentOf(file: string): Promise<Buffer | undefined> {
  const facts = await lstat(file).catch(() => undefined);
  if (facts === undefined) return undefined;
  if (!facts.isFile()) throw new Error('here it is not a file');
  return readFile(file);
}
