import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { BucketMount, BucketMounter } from '#core/mounts/mount-bucket.ts';
import { anySignal, oneAtATime } from '#base/concurrency.ts';
import { mountFailed, mountFailure, notMounted } from './mount-failure.ts';
import type { MountTarget } from './spawn-supervisor.ts';

/** Each mount costs two processes and about 25 MiB. */
const MAX_PER_SANDBOX = 8;

export interface NamespaceMounterOptions {
  /**
   * Where a bucket can be mounted for a path of a running sandbox. @throws PortholeError
   * `mount_error` with what is missing, `sandbox_not_running`
   */
  readonly target: (
    sandboxId: string,
    mountPath: string,
    signal: AbortSignal,
  ) => MountTarget | Promise<MountTarget>;
  /** Called for a mount that ended by itself, with the reason. */
  readonly lost: (sandboxId: string, mountPath: string, said: string) => void;
}

/** A mounted bucket, and the process that serves and unmounts it. */
interface Mounted {
  readonly target: MountTarget;
  readonly child: ChildProcess;
  /** Resolves once nothing is mounted any more, to the stderr of the process. */
  readonly ended: Promise<string>;
  isClosing: boolean;
}

/**
 * Mounts buckets in the mount namespaces of sandboxes, one mount supervisor each. The host's own
 * mounts do not change, and mounts disappear with their namespace.
 */
export class NamespaceMounter implements BucketMounter {
  readonly #options: NamespaceMounterOptions;
  readonly #mounted = new Map<string, Map<string, Mounted>>();
  /** By sandbox: aborted to cancel its running and waiting mounts. */
  readonly #ending = new Map<string, AbortController>();
  #next = 1;

  constructor(options: NamespaceMounterOptions) {
    this.#options = options;
  }

  mount(sandboxId: string, mount: BucketMount, given?: AbortSignal): Promise<void> {
    const ending = this.#ending.get(sandboxId) ?? new AbortController();
    this.#ending.set(sandboxId, ending);
    const signal = anySignal(ending.signal, given);
    return oneAtATime(this, sandboxId, async () => {
      signal.throwIfAborted();
      const { mountPath } = mount;
      const mounts = this.#mounted.get(sandboxId) ?? new Map<string, Mounted>();
      const taken = [...mounts.keys()].find((path) => overlap(path, mountPath));
      if (taken !== undefined) throw mountFailed(`Mount path already in use: ${taken}`);
      if (mounts.size >= MAX_PER_SANDBOX) {
        throw mountFailed(`the sandbox has ${MAX_PER_SANDBOX} mounts already: unmount one first`);
      }
      const target = await this.#options.target(sandboxId, mountPath, signal);
      const name = `porthole-${this.#next++}`;
      const mounted = await start(target, mount, name, signal).catch((error: unknown) => {
        target.clear();
        throw error;
      });
      this.#mounted.set(sandboxId, mounts.set(mountPath, mounted));
      void this.#watch(sandboxId, mountPath, mounted);
    });
  }

  unmount(sandboxId: string, mountPath: string): Promise<void> {
    return oneAtATime(this, sandboxId, async () => {
      const mounted = this.#mounted.get(sandboxId)?.get(mountPath);
      if (mounted === undefined) throw notMounted(mountPath);
      await close(mounted);
      this.#forget(sandboxId, mountPath, mounted);
    });
  }

  /** Ends every mount of a sandbox that is about to end. Never rejects. */
  unmountAll(sandboxId: string): Promise<void> {
    this.#ending.get(sandboxId)?.abort(mountFailed('the sandbox ends'));
    this.#ending.delete(sandboxId);
    return oneAtATime(this, sandboxId, async () => {
      const mounts = [...(this.#mounted.get(sandboxId) ?? [])];
      await Promise.all(mounts.map(([, mounted]) => close(mounted)));
      for (const [path, mounted] of mounts) this.#forget(sandboxId, path, mounted);
    });
  }

  async close(): Promise<void> {
    const ids = new Set([...this.#mounted.keys(), ...this.#ending.keys()]);
    await Promise.all([...ids].map((id) => this.unmountAll(id)));
  }

  async #watch(sandboxId: string, mountPath: string, mounted: Mounted): Promise<void> {
    const said = await mounted.ended;
    this.#forget(sandboxId, mountPath, mounted);
    if (!mounted.isClosing) this.#options.lost(sandboxId, mountPath, said);
  }

  /** Idempotent. */
  #forget(sandboxId: string, mountPath: string, mounted: Mounted): void {
    const mounts = this.#mounted.get(sandboxId);
    if (mounts?.get(mountPath) !== mounted) return;
    mounts.delete(mountPath);
    if (mounts.size === 0) this.#mounted.delete(sandboxId);
    mounted.target.clear();
  }
}

/** Whether the paths are equal or one contains the other. */
function overlap(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
}

const MAX_ERROR_CHARS = 8192;

/** @throws PortholeError `mount_error`; nothing is left behind in that case */
async function start(
  target: MountTarget,
  mount: BucketMount,
  name: string,
  signal: AbortSignal,
): Promise<Mounted> {
  const child = await target.launch(name, mount);
  const mounted = { target, child, ended: endOf(child, target, mount, name), isClosing: false };
  const { stdout } = child;
  if (stdout === null) throw new Error('the mount supervisor has no stdout');
  // The program prints one word, or exits.
  const ready = once(stdout, 'readable').then(() => stdout.read() !== null);
  const abort = () => child.stdin?.end();
  signal.addEventListener('abort', abort);
  try {
    if (signal.aborted) abort();
    const isReady = await Promise.race([ready, mounted.ended.then(() => false)]);
    if (isReady && !signal.aborted) return mounted;
    const said = await close(mounted);
    signal.throwIfAborted();
    throw mountFailure(mount, said);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function endOf(
  child: ChildProcess,
  target: MountTarget,
  { credentials }: BucketMount,
  name: string,
): Promise<string> {
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    // The cause comes last.
    said = (said + chunk.toString()).slice(-MAX_ERROR_CHARS);
  });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => {});
  const [code] = (await once(child, 'close')) as [number | null];
  // Killed: s3fs ended with it, and the dead mount must be removed.
  if (code === null) await sweep(target, name);
  return said
    .replaceAll(credentials.secretAccessKey, '[redacted]')
    .replaceAll(credentials.accessKeyId, '[redacted]');
}

/** Unmounts, and resolves when done: within 4 s, whatever the S3 server does. */
function close(mounted: Mounted): Promise<string> {
  mounted.isClosing = true;
  mounted.child.stdin?.end();
  return mounted.ended;
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
