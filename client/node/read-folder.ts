import { createHash } from 'node:crypto';
import { type BigIntStats, createReadStream } from 'node:fs';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Entries, SyncEntry } from '../sync/sync-plan.ts';
import type { IgnoreRules } from './ignore-rules.ts';

export interface FolderContents {
  readonly entries: Entries;
  /** Paths that cannot be sent, and why. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
  /** Number of files that were read. */
  readonly read: number;
}

/**
 * A file younger than this when it was read, in milliseconds, may have been written again within
 * the same tick of its clock.
 */
const TICK_MS = 2_000;
/** Files processed concurrently. */
const AT_ONCE = 32;
/** Files up to this many bytes are read in one call. */
const SMALL = 65_536;

/**
 * The contents of a folder, without excluded paths. A file is read only if what git
 * compares (size, mtime, ctime, inode) differs from what is known, or if it is so young that its
 * times prove nothing.
 * @param rootRules the rules for its own entries
 * @param known its contents at `readAt`, milliseconds since 1970
 */
export async function readFolder(
  folder: string,
  rootRules: IgnoreRules,
  known: { readonly entries: Entries; readonly readAt: number },
): Promise<FolderContents> {
  const entries = new Map<string, SyncEntry>();
  const skipped: { path: string; reason: string }[] = [];
  let read = 0;
  const look = async (path: string, rules: IgnoreRules): Promise<string | undefined> => {
    const stats = await lstat(join(folder, path), { bigint: true }).catch(gone);
    if (stats === undefined || rules.ignores(path, stats.isDirectory())) return undefined;
    if (stats.isDirectory()) {
      entries.set(path, { type: 'directory', mtime: Number(stats.mtimeMs) });
      return path;
    }
    if (stats.isSymbolicLink()) {
      const target = await readlink(join(folder, path));
      if (staysInside(path, target)) entries.set(path, { type: 'symlink', target });
      else skipped.push({ path, reason: 'a link that leaves the folder' });
    } else if (stats.isFile()) {
      const facts = factsOf(stats);
      const before = knownDigest(facts, known.entries.get(path), known.readAt);
      if (before === undefined) read += 1;
      const digest = before ?? (await digestOf(join(folder, path), facts.size).catch(gone));
      if (digest !== undefined) entries.set(path, { ...facts, digest });
    } else skipped.push({ path, reason: 'neither a file nor a folder nor a link' });
    return undefined;
  };
  const folders = [{ path: '', rules: rootRules }];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const { path: below, rules } = next;
    const names = await readdir(join(folder, below));
    const paths = names.map((name) => (below === '' ? name : `${below}/${name}`));
    for (let at = 0; at < paths.length; at += AT_ONCE) {
      const found = await Promise.all(paths.slice(at, at + AT_ONCE).map((path) => look(path, rules)));
      for (const path of found)
        if (path !== undefined) folders.push({ path, rules: await rules.inside(path) });
    }
  }
  return { entries, skipped, read };
}

type FileFacts = Omit<Extract<SyncEntry, { readonly type: 'file' }>, 'digest'>;

function factsOf({ size, mtimeNs, ctimeNs, ino, mode }: BigIntStats): FileFacts {
  return {
    type: 'file',
    size: Number(size),
    mtime: Number(mtimeNs / 1_000n) / 1_000,
    ctime: Number(ctimeNs / 1_000n) / 1_000,
    inode: String(ino),
    mode: Number(mode) & 0o777,
  };
}

/** The digest of a file that has not changed since it was read; undefined if it must be read. */
function knownDigest(facts: FileFacts, known: SyncEntry | undefined, readAt: number): string | undefined {
  if (known?.type !== 'file' || known.digest === '') return undefined;
  const isSame = (['size', 'mtime', 'ctime', 'inode'] as const).every((fact) => known[fact] === facts[fact]);
  return isSame && facts.ctime < readAt - TICK_MS ? known.digest : undefined;
}

async function digestOf(file: string, size: number): Promise<string> {
  const hash = createHash('sha256');
  if (size <= SMALL) hash.update(await readFile(file));
  else for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/**
 * Whether a link's target is within the folder, by its text alone: each `..` must precede every
 * name, because a name may itself be a link.
 */
function staysInside(path: string, target: string): boolean {
  if (target === '' || target.startsWith('/')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const firstName = parts.findIndex((part) => part !== '..');
  if (firstName !== -1 && parts.lastIndexOf('..') > firstName) return false;
  const resolved = posix.join(posix.dirname(path), target);
  return resolved !== '..' && !resolved.startsWith('../');
}

/** A file deleted during the scan counts as absent. */
function gone(error: unknown): undefined {
  if ((error as { readonly code?: unknown }).code === 'ENOENT') return undefined;
  throw error;
}
