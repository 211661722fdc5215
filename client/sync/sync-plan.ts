/** What a folder has at a path. */
export type SyncEntry =
  | { readonly type: 'directory' }
  | { readonly type: 'symlink'; readonly target: string }
  | {
      readonly type: 'file';
      readonly size: number;
      /** Milliseconds since 1970. */
      readonly mtime: number;
      /** Permissions. */
      readonly mode: number;
      /** SHA-256 of the content, in hexadecimal. */
      readonly digest: string;
    };

/** What a folder has, by its paths: relative, with `/`. */
export type Entries = ReadonlyMap<string, SyncEntry>;

export interface SyncPlan {
  /** Paths to send, folders before what is in them. */
  readonly send: readonly string[];
  /** Files and links to remove. */
  readonly remove: readonly string[];
  /** Folders to remove where nothing is left in them, inner ones first. */
  readonly removeFolders: readonly string[];
  /** Whether something must be gone before what takes its place can be sent. */
  readonly removeFirst: boolean;
}

/**
 * What must happen so that a place which has what was sent last, and maybe more, gets what is there
 * now.
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
