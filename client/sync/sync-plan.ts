/** A path's entry in a folder. */
export type SyncEntry =
  /** Its time in milliseconds since 1970. */
  | { readonly type: 'directory'; readonly mtime: number }
  | { readonly type: 'symlink'; readonly target: string }
  | {
      readonly type: 'file';
      readonly size: number;
      /** Milliseconds since 1970. */
      readonly mtime: number;
      /** Of the last change of content or attributes: no program can set it. */
      readonly ctime: number;
      readonly inode: string;
      /** Permissions. */
      readonly mode: number;
      /** SHA-256 of the content, in hexadecimal. */
      readonly digest: string;
    };

/** The contents of a folder, by path: relative, with `/`. */
export type Entries = ReadonlyMap<string, SyncEntry>;

export interface SyncPlan {
  /** Paths to send, folders before their contents. */
  readonly send: readonly string[];
  /** Files and links to remove. */
  readonly remove: readonly string[];
  /** Folders to remove if empty, inner ones first. */
  readonly removeFolders: readonly string[];
  /** Whether removals must precede the upload because a new entry replaces a removed one. */
  readonly removeFirst: boolean;
}

/**
 * The steps that bring a target, which has what was sent last and maybe more, to the current state.
 */
export function planSync(sent: Entries, now: Entries): SyncPlan {
  const send = [...now].filter(([path, entry]) => !isSame(sent.get(path), entry)).map(([path]) => path);
  const gone = [...sent].filter(([path, entry]) => {
    const next = now.get(path);
    return next === undefined || (entry.type === 'directory') !== (next.type === 'directory');
  });
  const remove = gone.filter(([, { type }]) => type !== 'directory').map(([path]) => path);
  const removeFolders = gone.filter(([, { type }]) => type === 'directory').map(([path]) => path);
  return {
    send: send.sort(),
    remove: remove.sort(),
    removeFolders: removeFolders.sort().toReversed(),
    removeFirst: gone.some(([path]) => now.has(path)),
  };
}

function isSame(before: SyncEntry | undefined, now: SyncEntry): boolean {
  if (before === undefined || before.type !== now.type) return false;
  if (before.type === 'symlink') return before.target === (now as typeof before).target;
  if (before.type === 'directory') return true;
  const { size, digest, mode } = now as typeof before;
  return before.size === size && before.digest === digest && before.mode === mode;
}
