import type { Sources } from './sandbox-view.ts';

export interface LaunchPlan {
  readonly id: string;
  readonly sources: Sources;
  /** The uid and gid of the sandbox if the host is root. */
  readonly owner: number | undefined;
  /** The command inside: the guest, or a trial. */
  readonly command: readonly string[];
  /** Memory limit of its cgroup; undefined: no limit. */
  readonly memoryMb?: number | undefined;
  /** Whether processes inside may create user namespaces. @default false */
  readonly userNamespaces?: boolean | undefined;
}

/** A command line that becomes the sandbox: its process and the sandbox end together. */
export type Launcher = (plan: LaunchPlan) => {
  readonly argv: string[];
  /** Whether it gets a session keyring that no other process has. @default false */
  readonly newKeyring?: boolean;
  /** Input on descriptor 4, if given: arguments that must not show in a command line. */
  readonly input?: string | undefined;
  /** Input on descriptor 5, if given. */
  readonly filter?: Uint8Array | undefined;
  /** Where buckets can be mounted, as that process sees it; absent: nowhere. */
  readonly shared?: SharedFolders | undefined;
};

/**
 * Folders with mount propagation into the sandbox: shared in the outer namespace, slave in the
 * sandbox's.
 */
export interface SharedFolders {
  readonly workspace: string;
  /** /mnt inside. */
  readonly mounts: string;
}

/** The shell stays pid 1 and reaps orphans; killing the guest ends it, and with it everything. */
export const FIRST = '"$@"; exit $?';

/**
 * Shell: makes the folders before `--` shared mounts. On failure the sandbox runs without buckets.
 */
export const SHARE = `while [ "$1" != -- ]; do mount --bind --make-shared "$1" "$1" 2>/dev/null; shift; done
shift`;

/**
 * A folder that every machine has and that contains none of `paths`, as a mount point for our file
 * system. The host's folder does not change, because each launch has its own mounts.
 * @throws Error if all candidates are taken
 */
export function spareFolder(paths: readonly string[]): string {
  const free = ['/mnt', '/media', '/srv', '/opt', '/run'].find(
    (folder) => !paths.some((path) => path === folder || path.startsWith(`${folder}/`)),
  );
  if (free === undefined) throw new Error(`no spare folder beside ${paths.join(', ')}`);
  return free;
}
