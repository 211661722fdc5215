import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from '#adapters/local/process-identity.ts';
import { SYSTEM_PATH } from '#adapters/local/spawn-sandbox.ts';
import type { BucketMount } from '#core/mounts/mount-bucket.ts';
import type { BucketServer, SupervisorPlan } from './bucket-supervisor.ts';
import { mountFailed } from './mount-failure.ts';

/** The mount point of one bucket in a sandbox. */
export interface MountTarget {
  /**
   * Starts a mount supervisor; without a bucket it only removes the mount of a killed one.
   * @throws PortholeError `mount_error` with what is missing
   */
  launch(name: string, mount?: BucketMount): Promise<ChildProcess>;
  /** Removes what was created on the host for the mount. */
  clear(): void;
}

/**
 * The folder that contains a path, and the path within it. @throws PortholeError `mount_error` if
 * none of the folders can hold a bucket
 */
export function folderOf<F extends { readonly inside: string }>(
  mountPath: string,
  folders: readonly F[],
): { readonly folder: F; readonly path: string } {
  const folder = folders.find(({ inside }) => mountPath.startsWith(`${inside}/`));
  if (folder !== undefined) return { folder, path: mountPath.slice(folder.inside.length + 1) };
  const known = folders.map(({ inside }) => `${inside}/…`).join(' or ');
  throw mountFailed(`${mountPath} cannot hold a bucket: use a path ${known}`);
}

const PROGRAM = join(import.meta.dirname, 'bucket-supervisor.ts');

/**
 * Seconds a server may take, and the number of retries: a command in the sandbox waits as long.
 * s3fs itself would wait for minutes.
 */
const PATIENCE = ['connect_timeout=10', 'readwrite_timeout=30', 'retries=3'];

/**
 * Until the bucket must be readable: a little more than s3fs may spend on a server that does not
 * answer.
 */
const READY_WITHIN_MS = 25_000;

export interface ServerOptions {
  readonly uid: string;
  readonly gid: string;
  readonly target: string;
  /** Command line that becomes s3fs, before its own. */
  readonly prefix: readonly string[];
  readonly mountOptions?: string;
}

/**
 * The command line of s3fs, without secrets: those are in `s3fsEnvironment`. Options of the request
 * come last, so that they win.
 */
function s3fsArguments(mount: BucketMount, name: string, { uid, gid, target }: ServerOptions): string[] {
  const source = mount.prefix === '/' ? mount.bucket : `${mount.bucket}:${mount.prefix}`;
  const signature = mount.s3fsOptions.includes('sigv2') ? [] : ['sigv4'];
  const options = [
    `url=${mount.endpoint}`,
    `fsname=${name}`,
    ...(mount.region === undefined ? [] : [`endpoint=${mount.region}`]),
    ...(mount.readOnly ? ['ro'] : []),
    ...signature,
    // Like a folder of the sandbox's user, which shows changes by others within a second.
    'allow_other',
    `uid=${uid}`,
    `gid=${gid}`,
    'umask=022',
    'stat_cache_expire=1',
    // In MiB, of the disk that buffers writes.
    'ensure_diskfree=256',
    ...PATIENCE,
    ...mount.s3fsOptions,
  ];
  return ['s3fs', source, target, '-f', ...options.flatMap((option) => ['-o', option])];
}

/** What s3fs serves. @param options of the mount point */
export function bucketServer(mount: BucketMount, name: string, options: ServerOptions): BucketServer {
  return {
    argv: [...options.prefix, ...s3fsArguments(mount, name, options)],
    ...(options.mountOptions === undefined ? {} : { mountOptions: options.mountOptions }),
    readyWithinMs: READY_WITHIN_MS,
  };
}

/** The whole environment of s3fs; its names for the credentials changed in release 1.87. */
function s3fsEnvironment({ credentials }: BucketMount): Record<string, string> {
  const { accessKeyId, secretAccessKey } = credentials;
  return {
    AWSACCESSKEYID: accessKeyId,
    AWSSECRETACCESSKEY: secretAccessKey,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  };
}

/** Opens a folder without reading it; not among Node's constants. */
const O_PATH = 0o10000000;

/**
 * Starts a mount supervisor. Credentials are passed in the environment.
 * @throws PortholeError `mount_error`
 */
export async function spawnSupervisor(plan: SupervisorPlan, mount?: BucketMount): Promise<ChildProcess> {
  const handles: FileHandle[] = [];
  const { pid } = plan.holder;
  try {
    handles.push(await open(`/proc/${pid}/ns/mnt`));
    handles.push(await open(`/proc/${pid}/root`, O_PATH | constants.O_DIRECTORY));
    if (plan.entersUserNamespace) handles.push(await open(`/proc/${pid}/ns/user`));
    // They were opened by pid, which the kernel may reuse: valid only if the holder is still alive.
    if (!isAlive(plan.holder)) throw mountFailed('the sandbox has just ended');
    const flags = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning'];
    flags.push('--v8-pool-size=1', '--max-semi-space-size=1');
    const child = spawn(process.execPath, [...flags, PROGRAM, JSON.stringify(plan)], {
      argv0: 'mount-supervisor',
      cwd: '/',
      env: {
        ...SYSTEM_PATH,
        HOME: '/nonexistent',
        ...(mount === undefined ? {} : s3fsEnvironment(mount)),
      },
      stdio: ['pipe', 'pipe', 'pipe', ...handles.map(({ fd }) => fd)],
    });
    await once(child, 'spawn');
    return child;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw mountFailed('the sandbox has just ended', error);
  } finally {
    await Promise.all(handles.map((handle) => handle.close()));
  }
}
