import type { Sources } from './sandbox-view.ts';

/** What a launcher is told about the sandbox it is to start. */
export interface LaunchPlan {
  readonly id: string;
  readonly sources: Sources;
  /** The uid and gid that it runs with where the host is root. */
  readonly owner: number | undefined;
  /** What runs inside: the guest, or a trial. */
  readonly command: readonly string[];
  /** What its cgroup holds it to; undefined: nothing. */
  readonly memoryMb?: number | undefined;
  /** Whether processes inside may make user namespaces. @default false */
  readonly userNamespaces?: boolean | undefined;
}

/**
 * A command line that becomes the sandbox: its process ends when the sandbox ends, and the sandbox
 * with it.
 */
export type Launcher = (plan: LaunchPlan) => {
  readonly argv: string[];
  /**
   * What it reads from descriptor 4, where given: arguments that must not show in a command line.
   */
  readonly input?: string;
  /** What it reads from descriptor 5, where given. */
  readonly filter?: Uint8Array;
  /** Where buckets can be mounted, as the same process finds it; absent: nowhere. */
  readonly shared?: SharedFolders;
};

/**
 * Folders whose later mounts appear in the sandbox: they are shared by the outer namespace, of
 * which the sandbox's is a slave.
 */
export interface SharedFolders {
  readonly workspace: string;
  /** Is /mnt inside. */
  readonly mounts: string;
}

/** What of the sources is shared. */
export function sharedOf({ workspace, mounts }: Sources): SharedFolders | undefined {
  return mounts === undefined ? undefined : { workspace, mounts };
}

/**
 * Shell: shares the folders that stand before `--`. Where that cannot be done, the sandbox runs all
 * the same, without buckets.
 */
export const SHARE = `while [ "$1" != -- ]; do mount --bind --make-shared "$1" "$1" 2>/dev/null; shift; done
shift`;

/**
 * A folder that every machine has and that none of `paths` lies in, to put a file system of our own
 * on: the host's stays as it is, as each launch has mounts of its own.
 * @throws Error when all are taken
 */
export function spareFolder(paths: readonly string[]): string {
  const free = ['/mnt', '/media', '/srv', '/opt', '/run'].find(
    (folder) => !paths.some((path) => path === folder || path.startsWith(`${folder}/`)),
  );
  if (free === undefined) throw new Error(`no spare folder beside ${paths.join(', ')}`);
  return free;
}
