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
import { join } from 'node:path';
import { type StoredSpec, storedSpecText, readStoredSpec } from '#adapters/sandboxes/stored-spec.ts';
import type { IsolationKind } from './isolation.ts';
import type { SharedFolders } from './launch.ts';
import type { ProcessIdentity } from './process-identity.ts';

/**
 * What was started for a sandbox. Written before it may do anything, so that no crash leaves a
 * process that nobody knows.
 */
export interface StartRecord {
  readonly isolation: IsolationKind;
  readonly process: ProcessIdentity;
  /** Where the process beside the sandbox finds the folders that buckets can be mounted on. */
  readonly shared?: SharedFolders | undefined;
  /** The folders of its cgroup. */
  readonly cgroup?: readonly string[] | undefined;
  /**
   * The version of the protocol that its guest speaks; absent for the init that versions before the
   * guest started.
   */
  readonly guest?: number | undefined;
}

/**
 * Makes a folder of the sandbox's user. Whatever has its name stays: what is in a workspace is the
 * sandbox's business, and must not keep it from starting. Follows no link: mkdir(2) fails with
 * EEXIST on
 * each.
 */
function makeOwned(path: string, owner: number | undefined): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // Also a folder that is there: a host that was killed may have made it, and not handed it over.
  if (owner !== undefined && lstatSync(path).isDirectory()) lchownSync(path, owner, owner);
}

/** What the user of a folder needs to work in it. */
const OWN = 0o700;

/** Gives a folder that the sandbox's user has shut, as by `chmod 000 .`, back to its user. */
function openFolder(path: string): void {
  try {
    const { mode } = statSync(path);
    if ((mode & OWN) !== OWN) chmodSync(path, (mode & 0o777) | OWN);
  } catch {
    // Gone, or another user's: it stays, and fails as it does.
  }
}

/**
 * A sandbox's folder on the host: `workspace/` and `state/` are shown inside, `channel/` and
 * `mounts/` are shown read-only, all else never is.
 */
export class SandboxFolder {
  readonly path: string;
  readonly workspace: string;
  readonly home: string;
  /** Where the guest keeps what processes have printed; outlives a stop. */
  readonly state: string;
  /** Holds the socket of the sandbox's channel to the host. */
  readonly channel: string;
  /**
   * Its folders are where buckets are mounted, within the sandbox's namespaces: here they are
   * always empty.
   */
  readonly mounts: string;

  constructor(root: string, id: string) {
    this.path = join(root, id);
    this.workspace = join(this.path, 'workspace');
    this.home = join(this.path, 'home');
    this.state = join(this.path, 'state');
    this.channel = join(this.path, 'channel');
    this.mounts = join(this.path, 'mounts');
  }

  exists(): boolean {
    return statSync(this.path, { throwIfNoEntry: false }) !== undefined;
  }

  /**
   * Makes the folders; safe to repeat. `owner` is given where commands run as another user than the
   * host.
   */
  make(owner: number | undefined): void {
    // `home` is only used where there is no isolation; elsewhere HOME is in memory.
    mkdirSync(this.home, { recursive: true, mode: 0o700 });
    // Stays the host's, so that nothing but the host makes a socket in it; the folders around it
    // keep everybody else out.
    mkdirSync(this.channel, { recursive: true, mode: 0o711 });
    mkdirSync(this.mounts, { recursive: true, mode: 0o755 });
    makeOwned(this.state, owner);
    openFolder(this.state);
    makeOwned(this.workspace, owner);
    // Its own user may have shut it.
    openFolder(this.workspace);
    makeOwned(join(this.workspace, 'outputs'), owner);
  }

  /** Keeps what it was made from, beside what is always so. */
  keepSpec(spec: StoredSpec): void {
    const text = storedSpecText(spec);
    if (text === undefined) return;
    const file = join(this.path, 'spec.json');
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  }

  spec(): StoredSpec {
    try {
      return readStoredSpec(readFileSync(join(this.path, 'spec.json'), 'utf8'));
    } catch {
      return {};
    }
  }

  /**
   * `made`: it has run once, so it is stopped rather than half-made. `destroying`: its end has
   * begun.
   */
  mark(name: 'made' | 'destroying'): void {
    writeFileSync(join(this.path, name), '');
  }

  has(name: 'made' | 'destroying'): boolean {
    return statSync(join(this.path, name), { throwIfNoEntry: false }) !== undefined;
  }

  record(started: StartRecord): void {
    const file = join(this.path, 'process.json');
    writeFileSync(`${file}.new`, JSON.stringify(started));
    renameSync(`${file}.new`, file);
  }

  /** Undefined when nothing was started, or when what is written there cannot be read. */
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
}
