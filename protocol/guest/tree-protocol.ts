/**
 * `POST /v1/tree`: all of /workspace, without the contents that the caller has. `PUT /v1/tree`:
 * deletes entries and unpacks a tar with exact modes, or changes nothing. Paths are relative to
 * /workspace, bytes as Latin-1, without `.`, `..` and empty parts.
 *
 * The body of the first has the known entries: for each a path, NUL, its version, NUL, in the order
 * of `treeOrder`. That of the second has paths, each with a NUL, in as many bytes as the query's
 * `removes` says, and then the tar.
 */
import * as z from 'zod/mini';

/** Frames of the answer (`base/frames`), entries in the order of `treeOrder`. */
export const TREE = {
  /** JSON, `treeEntry`: an entry that is not known in its present version. */
  entry: 1,
  /** Bytes of the current file. */
  contents: 2,
  /** JSON, `knownEntries`. */
  known: 3,
  /** JSON, `treeEnd`. Without it the tree is cut off. */
  end: 4,
} as const;

/** Bytes of contents per frame. */
export const MAX_TREE_CONTENTS = 262_144;
/** Bytes of another frame: a path and a link of 4,000 bytes each, escaped. */
export const MAX_TREE_FRAME = 65_536;
/** Ranges per frame. */
export const MAX_KNOWN_RANGES = 1_000;

/** Linux takes 4,095 bytes; the rest is for where a tree is unpacked (`ArchiveTree`). */
export const MAX_TREE_PATH = 4_000;

const path = z.string().check(z.minLength(1), z.maxLength(MAX_TREE_PATH), z.refine(isTreePath));

export const TREE_TYPES = ['file', 'directory', 'symlink', 'hardlink', 'fifo'] as const;

export const treeEntry = z.object({
  path,
  type: z.enum(TREE_TYPES),
  /** Permissions, and the three bits above them. */
  mode: z.int().check(z.gte(0), z.lte(0o7777)),
  /** Seconds since 1970. */
  mtime: z.number(),
  /**
   * Changes whenever the entry or its content does. Empty: it changed while it was read, or so
   * shortly before that its times do not show a later change.
   */
  version: z.string().check(z.regex(/^[0-9a-z.]{0,64}$/)),
  /** Of a symbolic link its target; of a hard link the path of an earlier file. */
  link: z.optional(z.string().check(z.minLength(1), z.maxLength(4_095))),
});
export type TreeEntry = z.infer<typeof treeEntry>;

const index = z.int().check(z.gte(0));

/** Ranges of known entries that are unchanged, by their numbers in the body; ends are exclusive. */
export const knownEntries = z.array(z.tuple([index, index])).check(z.maxLength(MAX_KNOWN_RANGES));

export const treeEnd = z.object({
  /** How many files and folders are missing: the sandbox's user may not read them. */
  unreadable: index,
  /** How many files changed while they were read. */
  unsettled: index,
});
export type TreeEnd = z.infer<typeof treeEnd>;

export function isTreePath(text: string): boolean {
  return !text.includes('\0') && text.split('/').every((part) => !['', '.', '..'].includes(part));
}

/** Sorts a folder before its content, and its content before its next sibling. */
export function treeOrder(path: string): string {
  return path.replaceAll('/', '\0');
}

/** Bytes of the paths that are removed: they are in memory until the tar is unpacked. */
export const MAX_REMOVED_BYTES = 67_108_864;
