import { lchownSync, mkdirSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PortholeError } from '#core/errors.ts';
import type { BucketMount, BucketMounter } from '#core/ports/bucket-mounter.ts';
import type { MountPlace } from '#adapters/local/mount-place.ts';
import { Serial } from '#adapters/sandboxes/serial.ts';
import { mountFailed } from './keeper-failure.ts';
import { Keeper } from './keeper.ts';

/** Each costs two processes and some 25 MiB. */
const MAX_PER_SANDBOX = 8;

/** A folder below one that only Porthole writes. */
interface Folder {
  readonly root: string;
  readonly path: string;
}

export interface NamespaceMounterOptions {
  /** Where buckets can be mounted for a running sandbox; undefined while nothing can. */
  readonly place: (sandboxId: string) => MountPlace | undefined;
  /** Told of a mount that ended by itself, and why. */
  readonly lost: (sandboxId: string, mountPath: string, said: string) => void;
}

interface Mounted {
  readonly keeper: Keeper;
  /** What was made for it on the host. */
  readonly folder: Folder | undefined;
}

/**
 * Mounts buckets in the user and mount namespace beside a sandbox, from where they propagate into it. Nothing in it is privileged: s3fs runs as the sandbox's own user on the
 * host, with the right to mount in that namespace alone, and the host's own mounts stay as they are. When the namespace goes, its mounts go.
 */
export class NamespaceMounter implements BucketMounter {
  readonly #options: NamespaceMounterOptions;
  readonly #serial = new Serial();
  readonly #mounted = new Map<string, Map<string, Mounted>>();
  /** Aborted, by sandbox, to give up what is being mounted or waits for its turn. */
  readonly #ending = new Map<string, AbortController>();
  #next = 1;

  constructor(options: NamespaceMounterOptions) {
    this.#options = options;
  }

  mount(sandboxId: string, mount: BucketMount, given?: AbortSignal): Promise<void> {
    const ending = this.#ending.get(sandboxId) ?? new AbortController();
    this.#ending.set(sandboxId, ending);
    const signal = given === undefined ? ending.signal : AbortSignal.any([ending.signal, given]);
    return this.#serial.run(sandboxId, async () => {
      signal.throwIfAborted();
      const { mountPath } = mount;
      const mounts = this.#mounted.get(sandboxId) ?? new Map<string, Mounted>();
      const taken = [...mounts.keys()].find((path) => overlap(path, mountPath));
      if (taken !== undefined) throw mountFailed(`Mount path already in use: ${taken}`);
      if (mounts.size >= MAX_PER_SANDBOX) {
        throw mountFailed(`the sandbox has ${MAX_PER_SANDBOX} mounts already: unmount one first`);
      }
      const place = this.#options.place(sandboxId);
      if (place === undefined) {
        throw mountFailed(
          'no mount can reach this sandbox: it must run, isolated by bubblewrap or unshare, and be started by this version of Porthole',
        );
      }
      const where = place.folders.find(({ inside }) => mountPath.startsWith(`${inside}/`));
      if (where === undefined) {
        const folders = place.folders.map(({ inside }) => `${inside}/…`).join(' or ');
        throw mountFailed(`${mountPath} cannot hold a bucket: use a path ${folders}`);
      }
      const path = mountPath.slice(where.inside.length + 1);
      const folder = where.own === undefined ? undefined : { root: where.own, path };
      if (folder !== undefined) makeFolder(folder, place.owner);
      const name = `porthole-${this.#next++}`;
      const { holder, owner } = place;
      const keeper = await Keeper.start(
        { holder, owner, root: where.beside, path },
        mount,
        name,
        signal,
      ).catch((error: unknown) => {
        removeFolder(folder);
        throw error;
      });
      const mounted = { keeper, folder };
      this.#mounted.set(sandboxId, mounts.set(mountPath, mounted));
      void this.#watch(sandboxId, mountPath, mounted);
    });
  }

  unmount(sandboxId: string, mountPath: string): Promise<void> {
    return this.#serial.run(sandboxId, async () => {
      const mounted = this.#mounted.get(sandboxId)?.get(mountPath);
      if (mounted === undefined) {
        throw new PortholeError(
          'unmount_error',
          `unmount failed: No active mount found at path: ${mountPath}`,
        );
      }
      await mounted.keeper.close();
      this.#forget(sandboxId, mountPath, mounted);
    });
  }

  /** Ends every mount of a sandbox that is about to end. Never fails. */
  unmountAll(sandboxId: string): Promise<void> {
    this.#ending.get(sandboxId)?.abort(mountFailed('the sandbox ends'));
    this.#ending.delete(sandboxId);
    return this.#serial.run(sandboxId, async () => {
      const mounts = [...(this.#mounted.get(sandboxId) ?? [])];
      await Promise.all(mounts.map(([, { keeper }]) => keeper.close()));
      for (const [path, mounted] of mounts) this.#forget(sandboxId, path, mounted);
    });
  }

  async close(): Promise<void> {
    const ids = new Set([...this.#mounted.keys(), ...this.#ending.keys()]);
    await Promise.all([...ids].map((id) => this.unmountAll(id)));
  }

  async #watch(sandboxId: string, mountPath: string, mounted: Mounted): Promise<void> {
    const said = await mounted.keeper.ended;
    this.#forget(sandboxId, mountPath, mounted);
    if (!mounted.keeper.isClosing) this.#options.lost(sandboxId, mountPath, said);
  }

  /** Does nothing the second time. */
  #forget(sandboxId: string, mountPath: string, mounted: Mounted): void {
    const mounts = this.#mounted.get(sandboxId);
    if (mounts?.get(mountPath) !== mounted) return;
    mounts.delete(mountPath);
    if (mounts.size === 0) this.#mounted.delete(sandboxId);
    removeFolder(mounted.folder);
  }
}

/** Whether one is the other or lies within it. */
function overlap(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
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
