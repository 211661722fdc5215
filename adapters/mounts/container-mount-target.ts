import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownerOf } from '#adapters/local/drop-root.ts';
import { spareFolder } from '#adapters/local/launch.ts';
import type { ProcessIdentity } from '#adapters/local/process-identity.ts';
import { LAUNCH_HELPER } from '#adapters/local/runtime-files.ts';
import { findCallsAddon } from '#base/foreign-calls.ts';
import { mountFailed } from './mount-failure.ts';
import {
  bucketServer,
  folderOf,
  type MountTarget,
  type ServerOptions,
  spawnSupervisor,
} from './spawn-supervisor.ts';

/**
 * `creates`: owned by root in the container, so the mount supervisor creates mount points below it.
 */
const FOLDERS = [
  { inside: '/mnt', creates: true },
  { inside: '/workspace', creates: false },
] as const;

/** Starts a program in its own mount namespace. */
const PRIVATE_MOUNTS = ['unshare', '--mount', '--propagation', 'private', '--', 'sh'];
const SERVE = join(import.meta.dirname, 'serve-bucket.sh');

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
    launch: async (name, mount) =>
      spawnSupervisor(
        {
          holder,
          // The programs are the host's: files of the container are not trusted.
          enter: ['--root=/proc/self/root'],
          entersUserNamespace: false,
          root: folder.inside,
          path,
          createsFolders: folder.creates,
          name,
          ...(mount === undefined
            ? {}
            : { server: bucketServer(mount, name, outside(owner, holder, mount.readOnly)) }),
        },
        mount,
      ),
  };
}

/** s3fs outside of the container, as an ordinary user. */
function outside(owner: number, holder: ProcessIdentity, readOnly: boolean): ServerOptions {
  const [uid, gid] = userOf(holder);
  const addon = findCallsAddon();
  if (addon === undefined) {
    throw mountFailed(
      `@koromix/koffi-linux-${process.arch} is not installed: run npm ci without --omit=optional`,
    );
  }
  const own = spareFolder([process.execPath, LAUNCH_HELPER, addon]);
  const files = [own, String(owner), process.execPath, LAUNCH_HELPER, addon];
  const access = readOnly ? ',ro' : '';
  return {
    uid,
    gid,
    target: `${own}/bucket`,
    prefix: [...PRIVATE_MOUNTS, SERVE, ...files, '--'],
    mountOptions: `rootmode=40000,user_id=${owner},group_id=${owner},allow_other,nosuid,nodev${access}`,
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
