import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import type { BucketMount } from '#core/ports/bucket-mounter.ts';
import { isAlive, type ProcessIdentity } from '#adapters/local/process-identity.ts';
import { SYSTEM_PATH } from '#adapters/local/spawn-sandbox.ts';
import { keeperFailure, mountFailed } from './keeper-failure.ts';
import { KEEPER, systemCalls } from './keeper-script.ts';
import { s3fsArguments, s3fsEnvironment } from './s3fs-arguments.ts';

/** Seconds until the bucket must be readable: a little more than what s3fs may spend on a server that does not answer. */
const READY_WITHIN = 25;

const MOST_ERROR_TEXT = 8192;

/** Where a keeper works. */
export interface KeeperPlace {
  /** Lives in the user and mount namespace that the mount belongs to. */
  readonly holder: ProcessIdentity;
  /** Who owns that user namespace, where the host is root: as this user everything runs. */
  readonly owner: number | undefined;
  /** Folder in that namespace, which nothing but Porthole can replace. */
  readonly root: string;
  /** Below it; what lies there may be hostile. */
  readonly path: string;
}

/** The process that mounts one bucket, serves it, and unmounts it. */
export class Keeper {
  readonly #child: ChildProcess;
  /** Resolves when nothing is mounted any more: to what was said if that came by itself. */
  readonly ended: Promise<string>;
  #isClosing = false;

  /** @throws PortholeError `mount_error`; nothing is left behind then */
  static async start(
    place: KeeperPlace,
    mount: BucketMount,
    name: string,
    signal?: AbortSignal,
  ): Promise<Keeper> {
    const child = await launch(place, name, s3fsArguments(mount, name), s3fsEnvironment(mount));
    const keeper = new Keeper(child, place, mount, name);
    const { stdout } = child;
    if (stdout === null) throw new Error('the keeper has no stdout');
    // It says one word, or ends.
    const ready = once(stdout, 'readable').then(() => stdout.read() !== null);
    const abort = () => child.stdin?.end();
    signal?.addEventListener('abort', abort);
    try {
      if (signal?.aborted === true) abort();
      const isReady = await Promise.race([ready, keeper.ended.then(() => false)]);
      if (isReady && signal?.aborted !== true) return keeper;
      const said = await keeper.close();
      signal?.throwIfAborted();
      throw keeperFailure(mount, said);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  private constructor(child: ChildProcess, place: KeeperPlace, mount: BucketMount, name: string) {
    this.#child = child;
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      // The cause comes last.
      said = (said + chunk.toString()).slice(-MOST_ERROR_TEXT);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => {});
    const closed = new Promise<boolean>((resolve) => child.once('close', (code) => resolve(code !== null)));
    this.ended = (async () => {
      const hasTidied = await closed;
      // Killed: s3fs ended with it, and somebody has to take the dead mount away.
      if (!hasTidied) await sweep(place, name);
      return withoutSecrets(said, mount);
    })();
  }

  /** Whether its end was asked for. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Unmounts, and resolves when that is done: within 4 s, whatever the S3 server does. */
  async close(): Promise<string> {
    this.#isClosing = true;
    this.#child.stdin?.end();
    return this.ended;
  }
}

async function launch(
  { holder, owner, root, path }: KeeperPlace,
  name: string,
  command: readonly string[],
  secrets: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const calls = systemCalls(process.arch);
  if (calls === undefined) throw mountFailed(`buckets cannot be mounted on a ${process.arch} machine`);
  const namespaces: FileHandle[] = [];
  try {
    for (const kind of ['user', 'mnt']) namespaces.push(await open(`/proc/${holder.pid}/ns/${kind}`));
    // Open now, they are of whoever has the pid: the holder, as long as it still lives.
    if (!isAlive(holder)) throw mountFailed('the sandbox has just ended');
    const child = spawn(
      'perl',
      ['-e', KEEPER, ...calls, root, path, name, String(READY_WITHIN), ...command],
      {
        ...(owner === undefined ? {} : { uid: owner, gid: owner }),
        cwd: '/',
        env: { ...SYSTEM_PATH, HOME: '/nonexistent', ...secrets },
        stdio: ['pipe', 'pipe', 'pipe', ...namespaces.map(({ fd }) => fd)],
      },
    );
    await once(child, 'spawn').catch((cause: unknown) => {
      throw mountFailed('perl is not installed on the host (apt-get install perl-base)', cause);
    });
    return child;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw mountFailed('the sandbox has just ended', error);
  } finally {
    await Promise.all(namespaces.map((handle) => handle.close()));
  }
}

async function sweep(place: KeeperPlace, name: string): Promise<void> {
  try {
    const child = await launch(place, name, [], {});
    child.stderr?.resume();
    await once(child, 'close');
  } catch {
    // The namespace is gone, and with it the mount.
  }
}

function withoutSecrets(text: string, { credentials }: BucketMount): string {
  return text
    .replaceAll(credentials.secretAccessKey, '[redacted]')
    .replaceAll(credentials.accessKeyId, '[redacted]');
}
