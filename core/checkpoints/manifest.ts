/**
 * What a checkpoint has: entries in the order of `treeOrder`, and where the contents of each are.
 * Stored as lines of JSON: a head, then entries. A manifest that extends another one has the
 * entries that differ, and the paths that are gone.
 */
import * as z from 'zod/mini';
import { type TreeEntry, treeOrder } from '#protocol/guest/tree-protocol.ts';

/** Bytes of contents, in the pack of a checkpoint. */
export interface Block {
  /** SHA-256, in base64url. */
  readonly hash: string;
  /** The checkpoint that has stored it. */
  readonly pack: string;
  /** Offset in the pack. */
  readonly at: number;
  readonly length: number;
}

export interface ManifestEntry extends TreeEntry {
  /** Of a file. */
  readonly blocks: readonly Block[];
}

export type Manifest = ReadonlyMap<string, ManifestEntry>;

export const EMPTY_MANIFEST: Manifest = new Map();

const VERSION = 1;

const head = z.object({
  version: z.literal(VERSION),
  base: z.nullable(z.string()),
  /** Of the blocks, which name them by index. */
  packs: z.array(z.string()),
});

/** A line of an entry; of a path that is gone, only the path. */
type Line =
  | readonly [path: string]
  | readonly [
      path: string,
      type: ManifestEntry['type'],
      mode: number,
      mtime: number,
      version: string,
      rest: string | readonly (readonly [hash: string, pack: number, at: number, length: number])[],
    ];

/** A manifest is stored as a whole if its changes are more than this part of it. */
const MOST_CHANGED = 0.25;

export interface Extended {
  readonly id: string;
  readonly manifest: Manifest;
}

/** The lines of a manifest. @param base extended if little has changed since */
export function manifestLines(
  manifest: Manifest,
  base: Extended | undefined,
): { readonly baseId: string | null; readonly text: string } {
  const changed = base === undefined ? undefined : changesOf(base.manifest, manifest);
  const extended =
    base !== undefined &&
    changed !== undefined &&
    changed.entries.length + changed.gone.length <= manifest.size * MOST_CHANGED
      ? base.id
      : null;
  const entries = extended === null || changed === undefined ? [...manifest.values()] : changed.entries;
  const gone = extended === null || changed === undefined ? [] : changed.gone;
  const packs = [...new Set(entries.flatMap(({ blocks }) => blocks.map(({ pack }) => pack)))];
  const indexOf = new Map(packs.map((pack, index) => [pack, index]));
  const lines = [
    JSON.stringify({ version: VERSION, base: extended, packs } satisfies z.infer<typeof head>),
    ...gone.map((path) => JSON.stringify([path])),
    ...entries.map(({ path, type, mode, mtime, version, link, blocks }) =>
      JSON.stringify([
        path,
        type,
        mode,
        mtime,
        version,
        link ??
          blocks.map(({ hash, pack, at, length }) => [hash, indexOf.get(pack) ?? 0, at, length] as const),
      ] satisfies Line),
    ),
  ];
  return { baseId: extended, text: `${lines.join('\n')}\n` };
}

/**
 * The id of the manifest that a text extends; null: it is whole.
 * @throws Error if it is malformed
 */
export function baseOf(text: string): string | null {
  return headOf(text).base;
}

function headOf(text: string): z.infer<typeof head> {
  return head.parse(JSON.parse(text.slice(0, text.indexOf('\n'))));
}

/**
 * @param text has the hash of the record, so its lines are as `manifestLines` wrote them
 * @throws Error if it is of another version
 */
export function readManifest(text: string, base: Manifest): Manifest {
  const { packs } = headOf(text);
  const entries = new Map(base);
  let isOrdered = true;
  const [, ...lines] = text.split('\n').slice(0, -1);
  for (const written of lines) {
    const line = JSON.parse(written) as Line;
    if (line.length === 1) {
      entries.delete(line[0]);
      continue;
    }
    const [path, type, mode, mtime, version, rest] = line;
    // A Map keeps the place of what it has.
    if (base.size > 0 && !entries.has(path)) isOrdered = false;
    const entry = { path, type, mode, mtime, version };
    if (typeof rest === 'string') entries.set(path, { ...entry, link: rest, blocks: [] });
    else {
      const blocks = rest.map(([hash, pack, at, length]) => ({ hash, pack: packs[pack] ?? '', at, length }));
      entries.set(path, { ...entry, blocks });
    }
  }
  return isOrdered ? entries : inOrder(entries.values());
}

/** Sorted as the guest walks. */
function inOrder(entries: Iterable<ManifestEntry>): Manifest {
  const keyed = [...entries].map((entry) => ({ entry, order: treeOrder(entry.path) }));
  keyed.sort((one, other) => (one.order < other.order ? -1 : 1));
  return new Map(keyed.map(({ entry }) => [entry.path, entry]));
}

export function sizeOf({ blocks }: ManifestEntry): number {
  return blocks.reduce((sum, { length }) => sum + length, 0);
}

/** Files and their bytes, and the bytes in each pack. */
export function totalsOf(manifest: Manifest): {
  readonly files: number;
  readonly bytes: number;
  readonly packs: Readonly<Record<string, number>>;
} {
  let [files, bytes] = [0, 0];
  const packs: Record<string, number> = {};
  const counted = new Set<string>();
  for (const { type, blocks } of manifest.values()) {
    if (type === 'file' || type === 'hardlink') files += 1;
    for (const { hash, pack, length } of blocks) {
      bytes += length;
      if (counted.has(hash)) continue;
      counted.add(hash);
      packs[pack] = (packs[pack] ?? 0) + length;
    }
  }
  return { files, bytes, packs };
}

interface Changes {
  readonly entries: readonly ManifestEntry[];
  readonly gone: readonly string[];
}

/** What leads from one manifest to the other; versions count. */
function changesOf(from: Manifest, to: Manifest): Changes {
  const entries = [...to.values()].filter((entry) => {
    const before = from.get(entry.path);
    return before === undefined || before.version !== entry.version || !isSame(before, entry);
  });
  return { entries, gone: [...from.keys()].filter((path) => !to.has(path)) };
}

/** What a restore does to files. */
export interface Restore {
  /** Without what is in them. */
  readonly removed: readonly string[];
  readonly written: readonly ManifestEntry[];
}

/**
 * What makes the files of `from` those of `to`. All names of a file with hard links are
 * written together, because a tar has links to its own files only.
 */
export function restoreOf(from: Manifest, to: Manifest): Restore {
  const removed: string[] = [];
  for (const { path, type } of from.values()) {
    const top = removed.at(-1);
    if (top !== undefined && path.startsWith(`${top}/`)) continue;
    const after = to.get(path);
    // A folder and anything else cannot take each other's place.
    if (after === undefined || (type === 'directory') !== (after.type === 'directory')) removed.push(path);
  }
  const written = new Set<string>();
  for (const entry of to.values()) {
    const before = from.get(entry.path);
    if (before === undefined || !isSame(before, entry)) written.add(entry.path);
  }
  const namesOf = new Map<string, string[]>();
  for (const { path, type, link } of to.values()) {
    if (type === 'hardlink' && link !== undefined)
      namesOf.set(link, [...(namesOf.get(link) ?? [link]), path]);
  }
  for (const names of namesOf.values()) {
    if (names.some((name) => written.has(name))) for (const name of names) written.add(name);
  }
  return { removed, written: [...to.values()].filter(({ path }) => written.has(path)) };
}

/** How a file, link or pipe differs between two checkpoints. */
export interface FileChange {
  readonly path: string;
  readonly change: 'added' | 'changed' | 'removed';
  /** Bytes of a file before and after; null where it does not exist. */
  readonly before: number | null;
  readonly after: number | null;
}

/**
 * In the order of the walk, without folders.
 * @param options.times whether a file with another time, and the same contents, has changed
 */
export function fileChanges(
  from: Manifest,
  to: Manifest,
  { times = true }: { readonly times?: boolean } = {},
): FileChange[] {
  const changes: FileChange[] = [];
  for (const { path } of inOrder([...new Map([...from, ...to]).values()]).values()) {
    const [before, after] = [from.get(path), to.get(path)].map((each) =>
      each?.type === 'directory' ? undefined : each,
    );
    if (before === undefined && after === undefined) continue;
    if (before !== undefined && after !== undefined && isSame(before, after, times)) continue;
    const change = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
    changes.push({
      path,
      change,
      before: before === undefined ? null : sizeOf(before),
      after: after === undefined ? null : sizeOf(after),
    });
  }
  return changes;
}

/** Whether both give the same file. Versions, and times of folders and pipes, do not count. */
function isSame(one: ManifestEntry, other: ManifestEntry, times = true): boolean {
  return (
    one.type === other.type &&
    one.mode === other.mode &&
    one.link === other.link &&
    (!times ||
      one.type === 'directory' ||
      one.type === 'fifo' ||
      Math.floor(one.mtime) === Math.floor(other.mtime)) &&
    one.blocks.length === other.blocks.length &&
    one.blocks.every(({ hash }, index) => hash === other.blocks[index]?.hash)
  );
}
