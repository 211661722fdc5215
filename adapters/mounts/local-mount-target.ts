import { lchownSync, mkdirSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { MountNamespace } from '#adapters/local/mount-namespace.ts';
import { mountFailed } from './mount-failure.ts';
import { folderOf, type MountTarget } from './mount-target.ts';
import { SUPERVISOR_SCRIPT } from './supervisor-script.ts';
import { spawnSupervisor } from './spawn-supervisor.ts';

/** A folder below one that only Porthole writes. */
interface Folder {
  readonly root: string;
  readonly path: string;
}

/**
 * A path of a local sandbox, in the user and mount namespace beside it, from where mounts propagate into it. Nothing in it is privileged: s3fs runs as the sandbox's own user
 * on the host, with the right to mount in that namespace alone, and the host's own mounts stay as they are.
 * @throws PortholeError `mount_error`
 */
export function localMountTarget(target: MountNamespace | undefined, mountPath: string): MountTarget {
  if (target === undefined) {
    throw mountFailed(
      'no mount can reach this sandbox: it must run, isolated by bubblewrap or unshare, and be started by this version of Porthole',
    );
  }
  const { holder, owner, folders } = target;
  const { folder: where, path } = folderOf(mountPath, folders);
  const own = where.own === undefined ? undefined : { root: where.own, path };
  if (own !== undefined) makeFolder(own, owner);
  return {
    clear: () => removeFolder(own),
    launch: (name, mount) =>
      spawnSupervisor(
        {
          script: SUPERVISOR_SCRIPT,
          args: ({ setns, capset, prctl, umount2 }) => [
            setns,
            capset,
            prctl,
            umount2,
            where.beside,
            path,
            name,
          ],
          holder,
          namespaces: ['user', 'mnt'],
          owner,
        },
        name,
        mount,
      ),
  };
}

/** s3fs asks that the folder is its user's; the sandbox is shown it read-only. */
function makeFolder({ root, path }: Folder, owner: number | undefined): void {
  const folder = join(root, path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
  } catch (cause) {
    throw mountFailed('the path has a part that is too long', cause);
  }
  if (owner !== undefined) lchownSync(folder, owner, owner);
}

/** With the folders above it that nothing else is in. */
function removeFolder(folder: Folder | undefined): void {
  if (folder === undefined) return;
  try {
    for (let path = folder.path; path !== '.'; path = dirname(path)) rmdirSync(join(folder.root, path));
  } catch {
    // Another mount has a folder in this one.
  }
}
