import { execFile } from 'node:child_process';
import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type StoredSpec, storedSpecText, readStoredSpec } from '#adapters/sandboxes/stored-spec.ts';
import { openFolder } from '#base/open-folder.ts';
import type { IsolationKind } from './isolation.ts';
import type { SharedFolders } from './launch.ts';
import type { ProcessIdentity } from './process-identity.ts';

/**
 * The processes started for a sandbox. Written before they run, so that no crash leaves an unknown
 * process.
 */
export interface StartRecord {
  readonly isolation: IsolationKind;
  readonly process: ProcessIdentity;
  /** Where the process beside the sandbox finds the folders that buckets can be mounted on. */
  readonly shared?: SharedFolders | undefined;
  readonly cgroup?: readonly string[] | undefined;
  /** The protocol version of its guest; absent for the init of versions before the guest. */
  readonly guest?: number | undefined;
  /** In gVisor, its command; with restored memory that of the sandbox that was saved. */
  readonly command?: readonly string[] | undefined;
}

/** That the provider has stopped a sandbox for the size of its files. */
export interface DiskStop {
  /** Absent after the sandbox has started again. */
  readonly why?: string | undefined;
  /** What its files took. */
  readonly bytes: number;
}

/**
 * Creates a folder owned by the sandbox's user. An existing entry of that name stays: the content
 * of a workspace must not keep the sandbox from starting. Follows no link: mkdir(2) fails with
 * EEXIST.
 */
function makeOwned(path: string, owner: number | undefined): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // Also for an existing folder: a host that was killed may not have changed its owner.
  if (owner !== undefined && lstatSync(path).isDirectory()) lchownSync(path, owner, owner);
}

/**
 * A sandbox's folder on the host: `workspace/`, `state/` and `listen/` are mounted inside,
 * `channel/` and `mounts/` read-only, anything else never.
 */
export class SandboxFolder {
  readonly path: string;
  readonly workspace: string;
  readonly home: string;
  /** The guest's folder for the output of processes; outlives a stop. */
  readonly state: string;
  /** Holds the socket of the sandbox's channel to the host. */
  readonly channel: string;
  /**
   * Its folders are the mount points of buckets within the sandbox's namespaces; on the host they
   * are always empty.
   */
  readonly mounts: string;
  /** Where the guest of gVisor makes its socket; empty while it runs. */
  readonly listen: string;
  /** The memory of a sandbox in gVisor that was stopped with it. */
  readonly memory: string;

  constructor(root: string, id: string) {
    this.path = join(root, id);
    this.workspace = join(this.path, 'workspace');
    this.home = join(this.path, 'home');
    this.state = join(this.path, 'state');
    this.channel = join(this.path, 'channel');
    this.mounts = join(this.path, 'mounts');
    this.listen = join(this.path, 'listen');
    this.memory = join(this.path, 'memory');
  }

  exists(): boolean {
    return statSync(this.path, { throwIfNoEntry: false }) !== undefined;
  }

  /**
   * Creates the folders; idempotent. `owner` is given if commands run as another user than the
   * host.
   */
  make(owner: number | undefined): void {
    // `home` is only used without isolation; otherwise HOME is in memory.
    mkdirSync(this.home, { recursive: true, mode: 0o700 });
    // Stays the host's, so that only the host creates sockets in it; the parent folders keep other
    // users out.
    mkdirSync(this.channel, { recursive: true });
    // gVisor must list it.
    chmodSync(this.channel, 0o755);
    mkdirSync(this.mounts, { recursive: true, mode: 0o755 });
    makeOwned(this.state, owner);
    openFolder(this.state);
    makeOwned(this.workspace, owner);
    // Code in the sandbox may have removed its permissions.
    openFolder(this.workspace);
    makeOwned(join(this.workspace, 'outputs'), owner);
  }

  /** Replaces `listen` by an empty folder. */
  async makeListen(owner: number | undefined): Promise<void> {
    await removeFolder(this.listen);
    makeOwned(this.listen, owner);
  }

  keepSpec(spec: StoredSpec): void {
    const text = storedSpecText(spec);
    if (text !== undefined) this.#replace('spec.json', text);
  }

  spec(): StoredSpec {
    try {
      return readStoredSpec(readFileSync(join(this.path, 'spec.json'), 'utf8'));
    } catch {
      return {};
    }
  }

  /**
   * `made`: it has run once, so it is stopped rather than partially created. `destroying`: its
   * removal has begun.
   */
  mark(name: 'made' | 'destroying'): void {
    writeFileSync(join(this.path, name), '');
  }

  has(name: 'made' | 'destroying'): boolean {
    return statSync(join(this.path, name), { throwIfNoEntry: false }) !== undefined;
  }

  recordDiskStop(stop: DiskStop): void {
    this.#replace('disk-stop.json', JSON.stringify(stop));
  }

  /** Undefined if it was not stopped for its size, or if the record cannot be read. */
  diskStop(): DiskStop | undefined {
    try {
      return JSON.parse(readFileSync(join(this.path, 'disk-stop.json'), 'utf8')) as DiskStop;
    } catch {
      return undefined;
    }
  }

  forgetDiskStop(): void {
    rmSync(join(this.path, 'disk-stop.json'), { force: true });
  }

  record(started: StartRecord): void {
    this.#replace('process.json', JSON.stringify(started));
  }

  /** Undefined if nothing was started, or if the record cannot be read. */
  started(): StartRecord | undefined {
    try {
      return JSON.parse(readFileSync(join(this.path, 'process.json'), 'utf8')) as StartRecord;
    } catch {
      return undefined;
    }
  }

  forgetStarted(): void {
    rmSync(join(this.path, 'process.json'), { force: true });
  }

  #replace(name: string, text: string): void {
    const file = join(this.path, name);
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  }
}

/**
 * Removes a folder that hostile code has filled. `rm` follows no link and handles trees deeper than
 * PATH_MAX, unlike Node. Folders that their owner has made inaccessible are opened first.
 */
export async function removeFolder(path: string): Promise<void> {
  const run = promisify(execFile);
  await run('rm', ['-rf', '--', path]).catch(() => undefined);
  const left = await stat(path).catch(() => undefined);
  if (left === undefined) return;
  await run('chmod', ['-R', 'u+rwX', '--', path]).catch(() => undefined);
  await run('rm', ['-rf', '--', path]);
}
