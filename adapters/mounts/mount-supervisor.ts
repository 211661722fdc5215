import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { BucketMount } from '#core/mounts/mount-bucket.ts';
import { mountFailure } from './mount-failure.ts';
import type { MountTarget } from './spawn-supervisor.ts';

const MOST_ERROR_TEXT = 8192;

/** The process that mounts one bucket, serves it, and unmounts it. */
export class MountSupervisor {
  readonly #child: ChildProcess;
  /** Resolves once nothing is mounted any more: to its stderr if it ended by itself. */
  readonly ended: Promise<string>;
  #isClosing = false;

  /** @throws PortholeError `mount_error`; nothing is left behind in that case */
  static async start(
    target: MountTarget,
    mount: BucketMount,
    name: string,
    signal?: AbortSignal,
  ): Promise<MountSupervisor> {
    const child = await target.launch(name, mount);
    const supervisor = new MountSupervisor(child, target, mount, name);
    const { stdout } = child;
    if (stdout === null) throw new Error('the mount supervisor has no stdout');
    // The program prints one word, or exits.
    const ready = once(stdout, 'readable').then(() => stdout.read() !== null);
    const abort = () => child.stdin?.end();
    signal?.addEventListener('abort', abort);
    try {
      if (signal?.aborted === true) abort();
      const isReady = await Promise.race([ready, supervisor.ended.then(() => false)]);
      if (isReady && signal?.aborted !== true) return supervisor;
      const said = await supervisor.close();
      signal?.throwIfAborted();
      throw mountFailure(mount, said);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  private constructor(child: ChildProcess, target: MountTarget, mount: BucketMount, name: string) {
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
      // Killed: s3fs ended with it, and the dead mount must be removed.
      if (!hasTidied) await sweep(target, name);
      return withoutSecrets(said, mount);
    })();
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Unmounts, and resolves when done: within 4 s, whatever the S3 server does. */
  async close(): Promise<string> {
    this.#isClosing = true;
    this.#child.stdin?.end();
    return this.ended;
  }
}

async function sweep(target: MountTarget, name: string): Promise<void> {
  try {
    const child = await target.launch(name);
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
