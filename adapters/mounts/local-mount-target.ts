import { lchownSync, mkdirSync, readFileSync, realpathSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { spareFolder } from '#adapters/local/launch.ts';
import type { MountNamespace } from '#adapters/local/local-provider.ts';
import type { ProcessIdentity } from '#adapters/local/process-identity.ts';
import { EARLIER_VERSION, mountFailed } from './mount-failure.ts';
import { bucketServer, folderOf, type MountTarget, spawnSupervisor } from './spawn-supervisor.ts';

/**
 * Becomes a program with the capability to mount in its namespace, and no other. Root without
 * capabilities and set-user-id programs gain none (prctl(2), securebits). The program ends with the
 * mount supervisor.
 */
const MOUNTER =
  `setpriv --no-new-privs --securebits=+noroot,+noroot_locked,+no_setuid_fixup,+no_setuid_fixup_locked
  --bounding-set=-all,+sys_admin --inh-caps=-all,+sys_admin --ambient-caps=-all,+sys_admin
  --pdeathsig=KILL --`.split(/\s+/);

/**
 * Shell: shows the current folder at a path that the sandbox cannot change, in its own mount
 * namespace, and runs a program there. libfuse resolves the path of a mount point twice, between
 * which a folder of the sandbox may become a link. What is mounted propagates to the folder itself,
 * under any name.
 */
const AT_OWN_PATH = 'mount --internal-only --no-canonicalize --bind . "$0" && exec "$@"';
const OWN_MOUNTS = ['unshare', '--mount', '--propagation', 'unchanged', '--', 'sh', '-c', AT_OWN_PATH];

/** A folder below one that only Porthole writes to. */
interface Folder {
  readonly root: string;
  readonly path: string;
}

/**
 * A path of a local sandbox, in the user and mount namespace beside it, from where mounts propagate
 * into it. Nothing in it is privileged: s3fs runs as the sandbox's own user on the host, with the
 * right to mount in that namespace only, and the host's own mounts do not change.
 * @throws PortholeError `mount_error`
 */
export function localMountTarget(target: MountNamespace | undefined, mountPath: string): MountTarget {
  if (target === undefined) {
    throw mountFailed(
      'no mount can reach this sandbox: it must run, isolated by bubblewrap or unshare, and be started by this version of Porthole',
    );
  }
  const { holder, owner, folders } = target;
  if (!hasRoot(holder)) throw mountFailed(EARLIER_VERSION);
  const { folder: where, path } = folderOf(mountPath, folders);
  const own = where.own === undefined ? undefined : { root: where.own, path };
  if (own !== undefined) makeFolder(own, owner);
  return {
    clear: () => removeFolder(own),
    launch: (name, mount) => {
      const stage = spareFolder(folders.map(({ beside }) => beside));
      const prefix = [...OWN_MOUNTS, stage, ...MOUNTER];
      const inside = { uid: '0', gid: '0', target: stage, prefix };
      return spawnSupervisor(
        {
          holder,
          // An ordinary user is root of the namespace already, and may not change its groups.
          enter: owner === undefined ? ['--preserve-credentials'] : [],
          entersUserNamespace: true,
          root: owner === undefined ? realpathSync(where.beside) : where.beside,
          path,
          createsFolders: false,
          name,
          ...(mount === undefined ? {} : { server: bucketServer(mount, name, inside) }),
        },
        mount,
      );
    },
  };
}

/** Whether its user namespace has a root: mount(8) and umount(8) require that. */
function hasRoot({ pid }: ProcessIdentity): boolean {
  try {
    return /^\s*0 /.test(readFileSync(`/proc/${pid}/uid_map`, 'utf8'));
  } catch (cause) {
    throw mountFailed('the sandbox has just ended', cause);
  }
}

/** s3fs requires that its user owns the folder; the sandbox sees it read-only. */
function makeFolder({ root, path }: Folder, owner: number | undefined): void {
  const folder = join(root, path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
  } catch (cause) {
    throw mountFailed('the path has a part that is too long', cause);
  }
  if (owner !== undefined) lchownSync(folder, owner, owner);
}

/** Also removes parent folders that become empty. */
function removeFolder(folder: Folder | undefined): void {
  if (folder === undefined) return;
  try {
    for (let path = folder.path; path !== '.'; path = dirname(path)) rmdirSync(join(folder.root, path));
  } catch {
    // Another mount has a folder below it.
  }
}
