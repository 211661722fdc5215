import { readFileSync } from 'node:fs';
import { ownerOf } from '#adapters/local/drop-root.ts';
import type { ProcessIdentity } from '#adapters/local/process-identity.ts';
import { CONTAINER_SUPERVISOR_SCRIPT } from './container-supervisor-script.ts';
import { mountFailed } from './mount-failure.ts';
import { folderOf, type MountTarget } from './mount-target.ts';
import { spawnSupervisor } from './spawn-supervisor.ts';

/**
 * `makes`: owned by root in the container, so the mount supervisor creates mount points below it.
 */
const FOLDERS = [
  { inside: '/mnt', makes: true },
  { inside: '/workspace', makes: false },
] as const;

/** The kernel's MOUNT_ATTR_ flags: no set-user-id programs and no devices; read-only. */
const CONFINED = 2 | 4;
const READ_ONLY = 1;

/**
 * A path of a container. Only root may mount in its namespace, so the mount supervisor runs as
 * root; s3fs does not, and serves a file system that is already mounted.
 * @param holder the container's first process; undefined if it is not a process of this machine
 * @throws PortholeError `mount_error`
 */
export function containerMountTarget(
  sandboxId: string,
  holder: ProcessIdentity | undefined,
  mountPath: string,
): MountTarget {
  const { folder, path } = folderOf(mountPath, FOLDERS);
  const owner = ownerOf(sandboxId);
  if (owner === undefined) {
    throw mountFailed(
      'only root may mount in a container: start Porthole as root, on Linux and on the machine of the container engine',
    );
  }
  if (holder === undefined) {
    throw mountFailed(
      'the container is no process that this Porthole sees: it must run on the machine of the container engine, outside of containers',
    );
  }
  return {
    clear: () => {},
    launch: (name, mount) =>
      spawnSupervisor(
        {
          script: CONTAINER_SUPERVISOR_SCRIPT,
          args: (calls) => [
            calls.setns,
            calls.capset,
            calls.prctl,
            calls.umount2,
            calls.unshare,
            calls.mount,
            calls.sendmsg,
            String(holder.pid),
            folder.makes ? 'make' : '',
            folder.inside,
            path,
            name,
            String(CONFINED | (mount?.readOnly === true ? READ_ONLY : 0)),
            ...userOf(holder),
            String(owner),
          ],
          holder,
          namespaces: ['mnt'],
        },
        name,
        mount,
      ),
  };
}

/**
 * User and group of a process in this machine's user namespace: an engine may map its containers to
 * other ids.
 */
function userOf({ pid }: ProcessIdentity): [string, string] {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch (cause) {
    throw mountFailed('the sandbox has just ended', cause);
  }
  const [, uid = ''] = /^Uid:\t(\d+)/m.exec(status) ?? [];
  const [, gid = ''] = /^Gid:\t(\d+)/m.exec(status) ?? [];
  return [uid, gid];
}
