import { createHash } from 'node:crypto';
import { type BigIntStats, createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { IgnoreRules } from '../sync/ignore-rules.ts';
import type { Entries, SyncEntry } from '../sync/sync-plan.ts';

export interface FolderContents {
  readonly entries: Entries;
  /** Paths that cannot be sent, and why. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

/** A file that is younger than this when it was read, in milliseconds, may have been written again within the same tick of its clock. */
const TICK_MS = 2_000;

/**
 * What a folder has, but for what is left out. A file is read only where its size, time or mode differ from what is known of it, or where it is so young that
 * its time tells nothing.
 * @param known what it had at `readAt`, milliseconds since 1970
 */
export async function readFolder(
  folder: string,
  rules: IgnoreRules,
  known: { readonly entries: Entries; readonly readAt: number },
): Promise<FolderContents> {
  const entries = new Map<string, SyncEntry>();
  const skipped: { path: string; reason: string }[] = [];
  const visit = async (below: string): Promise<void> => {
    const found = await readdir(join(folder, below), { withFileTypes: true });
    for (const { name } of found) {
      const path = below === '' ? name : `${below}/${name}`;
      const stats = await lstat(join(folder, path), { bigint: true }).catch(gone);
      if (stats === undefined || rules.ignores(path, stats.isDirectory())) continue;
      if (stats.isDirectory()) {
        entries.set(path, { type: 'directory' });
        await visit(path);
      } else if (stats.isSymbolicLink()) {
        const target = await readlink(join(folder, path));
        if (staysInside(path, target)) entries.set(path, { type: 'symlink', target });
        else skipped.push({ path, reason: 'a link that leaves the folder' });
      } else if (stats.isFile()) {
        entries.set(path, await fileEntry(join(folder, path), stats, known.entries.get(path), known.readAt));
      } else skipped.push({ path, reason: 'neither a file nor a folder nor a link' });
    }
  };
  await visit('');
  return { entries, skipped };
}

async function fileEntry(
  file: string,
  stats: BigIntStats,
  known: SyncEntry | undefined,
  readAt: number,
): Promise<SyncEntry> {
  const mtime = Number(stats.mtimeNs / 1_000n) / 1_000;
  const facts = { type: 'file', size: Number(stats.size), mtime, mode: Number(stats.mode) & 0o777 } as const;
  const isKnown =
    known?.type === 'file' && known.size === facts.size && known.mtime === mtime && mtime < readAt - TICK_MS;
  return { ...facts, digest: isKnown ? known.digest : await digestOf(file) };
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Whether a link leads to within the folder, by its text alone: each `..` must come before every name, for behind one it may lead anywhere. */
function staysInside(path: string, target: string): boolean {
  if (target === '' || target.startsWith('/')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const firstName = parts.findIndex((part) => part !== '..');
  if (firstName !== -1 && parts.lastIndexOf('..') > firstName) return false;
  const resolved = posix.join(posix.dirname(path), target);
  return resolved !== '..' && !resolved.startsWith('../');
}

/** What goes while it is looked at is not there. */
function gone(error: unknown): undefined {
  if ((error as { readonly code?: unknown }).code === 'ENOENT') return undefined;
  throw error;
}
