import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { BucketMount } from '#core/ports/bucket-mounter.ts';
import { keeperFailure } from './keeper-failure.ts';
import type { KeeperPlace } from './keeper-place.ts';

const MOST_ERROR_TEXT = 8192;

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
    const child = await place.launch(name, mount);
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

async function sweep(place: KeeperPlace, name: string): Promise<void> {
  try {
    const child = await place.launch(name);
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
