import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import { isAlive, type ProcessIdentity } from '#adapters/local/process-identity.ts';
import { SYSTEM_PATH } from '#adapters/local/spawn-sandbox.ts';
import type { BucketMount } from '#core/mounts/mount-bucket.ts';
import { mountFailed } from './mount-failure.ts';

/** Placeholder that the mount supervisor replaces. */
const UID = '@UID@';
const GID = '@GID@';
const TARGET = '@TARGET@';

/**
 * Seconds a server may take, and the number of retries: a command in the sandbox waits as long.
 * s3fs itself would wait for minutes.
 */
const PATIENCE = ['connect_timeout=10', 'readwrite_timeout=30', 'retries=3'];

/**
 * Makes a bucket look like a folder of the sandbox's user: the user owns every file, and changes by
 * others show within a second. `ensure_diskfree` is in MiB, of the disk that buffers writes.
 */
const LIKE_A_FOLDER = [
  'allow_other',
  `uid=${UID}`,
  `gid=${GID}`,
  'umask=022',
  'stat_cache_expire=1',
  'ensure_diskfree=256',
];

/**
 * The command line of s3fs, without secrets: those are in `s3fsEnvironment`. Options of the request
 * come last, so that they win.
 */
function s3fsArguments(mount: BucketMount, name: string): string[] {
  const source = mount.prefix === '/' ? mount.bucket : `${mount.bucket}:${mount.prefix}`;
  const signature = mount.s3fsOptions.includes('sigv2') ? [] : ['sigv4'];
  const options = [
    `url=${mount.endpoint}`,
    `fsname=${name}`,
    ...(mount.region === undefined ? [] : [`endpoint=${mount.region}`]),
    ...(mount.readOnly ? ['ro'] : []),
    ...signature,
    ...LIKE_A_FOLDER,
    ...PATIENCE,
    ...mount.s3fsOptions,
  ];
  return ['s3fs', source, TARGET, '-f', ...options.flatMap((option) => ['-o', option])];
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

/**
 * System calls of the mount supervisor by number: perl knows no names. Numbers in the script itself
 * are the same on every architecture (since Linux 5.0).
 */
interface SystemCalls {
  readonly setns: string;
  readonly capset: string;
  readonly prctl: string;
  readonly umount2: string;
  readonly unshare: string;
  readonly mount: string;
  readonly sendmsg: string;
}

const NUMBERS: Readonly<Record<string, SystemCalls>> = {
  x64: {
    setns: '308',
    capset: '126',
    prctl: '157',
    umount2: '166',
    unshare: '272',
    mount: '165',
    sendmsg: '46',
  },
  arm64: {
    setns: '268',
    capset: '91',
    prctl: '167',
    umount2: '39',
    unshare: '97',
    mount: '40',
    sendmsg: '211',
  },
};

/** Undefined on an architecture that is not in the table. */
function systemCalls(architecture: string): SystemCalls | undefined {
  return NUMBERS[architecture];
}

/**
 * Seconds until the bucket must be readable: a little more than s3fs may spend on a server that
 * does not answer.
 */
const READY_WITHIN = 25;

interface SupervisorPlan {
  readonly script: string;
  /** First arguments of the script. */
  readonly args: (calls: SystemCalls) => readonly string[];
  /** A process in the namespaces. */
  readonly holder: ProcessIdentity;
  /** The namespaces that the script finds open, from descriptor 3 on. */
  readonly namespaces: readonly ('user' | 'mnt')[];
  /** User id of the process; undefined: the host's own. */
  readonly owner?: number | undefined;
}

/**
 * Starts perl as a mount supervisor, with s3fs for a bucket. Credentials are passed in the
 * environment.
 * @throws PortholeError `mount_error`
 */
export async function spawnSupervisor(
  { script, args, holder, namespaces, owner }: SupervisorPlan,
  name: string,
  mount?: BucketMount,
): Promise<ChildProcess> {
  const calls = systemCalls(process.arch);
  if (calls === undefined) throw mountFailed(`buckets cannot be mounted on a ${process.arch} machine`);
  const opened: FileHandle[] = [];
  try {
    for (const kind of namespaces) opened.push(await open(`/proc/${holder.pid}/ns/${kind}`));
    // They were opened by pid, which the kernel may reuse: valid only if the holder is still alive.
    if (!isAlive(holder)) throw mountFailed('the sandbox has just ended');
    const s3fs = mount === undefined ? [] : s3fsArguments(mount, name);
    const child = spawn('perl', ['-e', script, ...args(calls), String(READY_WITHIN), ...s3fs], {
      ...(owner === undefined ? {} : { uid: owner, gid: owner }),
      cwd: '/',
      env: {
        ...SYSTEM_PATH,
        HOME: '/nonexistent',
        ...(mount === undefined ? {} : s3fsEnvironment(mount)),
      },
      stdio: ['pipe', 'pipe', 'pipe', ...opened.map(({ fd }) => fd)],
    });
    await once(child, 'spawn').catch((cause: unknown) => {
      throw mountFailed('perl is not installed on the host (apt-get install perl-base)', cause);
    });
    return child;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw mountFailed('the sandbox has just ended', error);
  } finally {
    await Promise.all(opened.map((handle) => handle.close()));
  }
}
