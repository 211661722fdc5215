/**
 * The mount supervisor of one bucket, a process that outlives a killed host. It starts s3fs, prints
 * `ready` once the bucket is readable, and unmounts when s3fs or the sandbox ends, or when its
 * stdin closes, which happens whenever the host ends.
 *
 *     node bucket-supervisor.ts '{"name": "porthole-1", …}'
 *
 * It stays in the host's namespaces. nsenter enters those of the sandbox for one tool at a time, in
 * a folder that is already open: no path is resolved twice (TOCTOU), and no file of the sandbox is
 * executed.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdirSync, openSync, readFileSync, rmdirSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from '#adapters/local/process-identity.ts';

/** Descriptors that the host opens for the supervisor. */
const DESCRIPTORS = { mountNamespace: 3, root: 4, userNamespace: 5 } as const;

/** Descriptor of /dev/fuse in a server that serves a mounted file system. */
const FUSE_DESCRIPTOR = 3;

/** Without secrets: they are in the environment, which only s3fs gets. */
export interface SupervisorPlan {
  /** A process in the sandbox's namespaces. */
  readonly holder: ProcessIdentity;
  /** Options of nsenter, besides the mount namespace. */
  readonly enter: readonly string[];
  /** Whether the supervisor enters the user namespace as well. */
  readonly entersUserNamespace: boolean;
  /** A folder of the sandbox that only Porthole creates, without links on its way. */
  readonly root: string;
  /** The path below it. */
  readonly path: string;
  /** Whether missing folders are created, and removed afterwards. */
  readonly createsFolders: boolean;
  /** The source of the mount, unique on this machine. */
  readonly name: string;
  /** Absent: only the mount of a killed supervisor is removed. */
  readonly server?: BucketServer;
}

export interface BucketServer {
  readonly argv: readonly string[];
  /**
   * Options of a file system that the supervisor mounts and s3fs serves, outside of the sandbox's
   * namespaces. Absent: s3fs runs in the namespaces, in the folder, and mounts on it.
   */
  readonly mountOptions?: string;
  readonly readyWithinMs: number;
}

const { O_DIRECTORY, O_NOFOLLOW, O_RDWR } = constants;
/** Not among Node's constants. A file system is not asked for such a descriptor. */
const O_PATH = 0o10000000;

const EMPTY_WITHIN_MS = 2_000;
/** How long s3fs may take to tell why it refused, and to store what it was given. */
const EXPLAINED_WITHIN_MS = 2_000;
const STORED_WITHIN_MS = 3_000;
const POLL_MS = 20;
const HOLDER_POLL_MS = 1_000;

const EXIT = { done: 0, failed: 3, serverEnded: 4, unreadable: 5 } as const;

/** A reason to exit; its text is part of the protocol with `mount-failure.ts`. */
class Failure extends Error {}

function failure(what: string, cause: unknown): Failure {
  return new Failure(`${what}: ${(cause as NodeJS.ErrnoException).code ?? String(cause)}`);
}

/** The path of a descriptor of this process, also for its children. */
function opened(descriptor: number): string {
  return `/proc/${process.pid}/fd/${descriptor}`;
}

function openFolder(path: string, what: string): number {
  try {
    return openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  } catch (cause) {
    throw failure(`open ${what}`, cause);
  }
}

/** The mount point and its parent folders, each opened without following a link. */
class MountPoint {
  readonly #plan: SupervisorPlan;
  readonly #created: { readonly parent: number; readonly name: string }[] = [];
  /** The parent of the mount point. */
  readonly above: number;
  readonly last: string;

  constructor(plan: SupervisorPlan) {
    this.#plan = plan;
    const parts = plan.path.split('/');
    this.last = parts.pop() ?? '';
    const what = plan.createsFolders ? 'mounts' : 'root';
    let folder = openFolder(`${opened(DESCRIPTORS.root)}${plan.root}`, what);
    try {
      for (const part of parts) {
        this.#create(folder, part);
        folder = openFolder(`${opened(folder)}/${part}`, 'folder');
      }
      this.#create(folder, this.last);
    } catch (error) {
      this.removeFolders();
      throw error;
    }
    this.above = folder;
  }

  open(): number {
    return openFolder(`${opened(this.above)}/${this.last}`, 'mount path');
  }

  #create(parent: number, name: string): void {
    if (!this.#plan.createsFolders) return;
    // An existing one remained from a killed supervisor, or has another bucket in it and stays.
    this.#created.push({ parent, name });
    if (this.#plan.server !== undefined) makeFolder(`${opened(parent)}/${name}`);
  }

  /** Removes the created folders that are empty. */
  removeFolders(): void {
    for (const { parent, name } of this.#created.toReversed()) {
      try {
        rmdirSync(`${opened(parent)}/${name}`);
      } catch {
        // ENOTEMPTY: the mount point of another bucket is below.
      }
    }
  }

  /** The source of the bucket that is mounted here; undefined if none is. */
  mounted(): string | undefined {
    let folder: number | undefined;
    try {
      folder = this.open();
      const [, id] = /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${folder}`, 'utf8')) ?? [];
      const table = readFileSync(`/proc/${this.#plan.holder.pid}/mountinfo`, 'utf8');
      return new RegExp(String.raw`^${id} .* - fuse\S* (porthole-\S+) `, 'm').exec(table)?.[1];
    } catch {
      return undefined;
    } finally {
      if (folder !== undefined) closeSync(folder);
    }
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, 0o755);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw failure('make folder', cause);
  }
}

/** Runs tools of the host in the sandbox's namespaces. */
class Namespaces {
  readonly #options: readonly string[];

  constructor({ enter, entersUserNamespace }: SupervisorPlan) {
    this.#options = [
      ...(entersUserNamespace ? [`--user=${opened(DESCRIPTORS.userNamespace)}`] : []),
      `--mount=${opened(DESCRIPTORS.mountNamespace)}`,
      ...enter,
    ];
  }

  /** A tool in an open folder of the sandbox. */
  start(folder: number, argv: readonly string[], stdio: Stdio, env = process.env): ChildProcess {
    return spawn('nsenter', [...this.#options, `--wd=${opened(folder)}`, '--', ...argv], { stdio, env });
  }

  /** @throws Failure */
  async run(folder: number, argv: readonly string[], descriptor?: number): Promise<void> {
    const code = await exitOf(
      this.start(folder, argv, ['ignore', 'ignore', 'inherit', descriptor ?? 'ignore'], {
        PATH: process.env['PATH'],
      }),
    );
    if (code !== 0) throw new Failure(`${argv[0]}: exit code ${code}`);
  }
}

type Stdio = ('ignore' | 'inherit' | 'pipe' | number)[];

/** Null: ended by a signal. */
async function exitOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

class BucketSupervisor {
  readonly #plan: SupervisorPlan;
  readonly #namespaces: Namespaces;
  readonly #point: MountPoint;
  #server: ChildProcess | undefined;
  #probe: ChildProcess | undefined;
  #isEnding = false;

  constructor(plan: SupervisorPlan) {
    this.#plan = plan;
    this.#namespaces = new Namespaces(plan);
    this.#point = new MountPoint(plan);
  }

  async start(server: BucketServer): Promise<void> {
    let folder = this.#point.open();
    if (await this.#isDead()) {
      await this.#unmount();
      folder = this.#point.open();
    }
    if (server.mountOptions === undefined) {
      this.#server = this.#namespaces.start(folder, server.argv, ['ignore', 2, 'inherit']);
    } else {
      if (!(await this.#isEmpty(folder))) throw new Failure('the folder is not empty');
      this.#server = await this.#attach(folder, server.argv, server.mountOptions);
    }
    this.#server.once('error', (cause) => this.fail(failure('start s3fs', cause)));
    this.#server.once('exit', () => void this.end(EXIT.serverEnded));
    await this.#untilReadable(AbortSignal.timeout(server.readyWithinMs));
  }

  /**
   * Mounts a file system on the folder, and starts the server with its descriptor. Only the server
   * keeps the descriptor, so that the file system fails with the server.
   */
  async #attach(folder: number, argv: readonly string[], options: string): Promise<ChildProcess> {
    let fuse: number;
    try {
      fuse = openSync('/dev/fuse', O_RDWR);
    } catch (cause) {
      throw failure('open /dev/fuse', cause);
    }
    try {
      const mount = ['mount', '--internal-only', '--no-canonicalize', '--types', 'fuse'];
      const all = `fd=${FUSE_DESCRIPTOR},${options}`;
      await this.#namespaces.run(folder, [...mount, '--options', all, this.#plan.name, '.'], fuse);
      const [program = '', ...rest] = argv;
      return spawn(program, rest, { stdio: ['ignore', 2, 'inherit', fuse] });
    } finally {
      closeSync(fuse);
    }
  }

  async #isEmpty(folder: number): Promise<boolean> {
    const { code, listed } = await this.#find(folder, '.', AbortSignal.timeout(EMPTY_WITHIN_MS));
    return code === 0 && listed === '';
  }

  /** Whether a bucket is mounted that is no longer served: its supervisor was killed. */
  async #isDead(): Promise<boolean> {
    if (this.#point.mounted() === undefined) return false;
    const { above, last } = this.#point;
    const { said } = await this.#find(above, `./${last}`, AbortSignal.timeout(EMPTY_WITHIN_MS));
    return said.includes('not connected');
  }

  async #untilReadable(late: AbortSignal): Promise<void> {
    const { name } = this.#plan;
    while (!this.#isEnding) {
      if (this.#point.mounted() === name) {
        const { above, last } = this.#point;
        const { code } = await this.#find(above, `./${last}`, late);
        if (this.#isEnding) return;
        // A refused server removes its mount, and the empty folder below it can be read.
        if (code === 0 && this.#point.mounted() === name) {
          process.stdout.write('ready\n');
          return;
        }
        // s3fs knows why, and prints it when it ends.
        if (!late.aborted) {
          await pause(EXPLAINED_WITHIN_MS);
          return this.end(EXIT.unreadable);
        }
      }
      if (late.aborted) {
        process.stderr.write('mount supervisor: not readable in time\n');
        return this.end(EXIT.unreadable);
      }
      await pause(POLL_MS);
    }
  }

  /**
   * A child process looks for the first entry of a folder: a server that does not answer blocks its
   * readers.
   */
  async #find(folder: number, path: string, late: AbortSignal) {
    const argv = ['find', path, '-mindepth', '1', '-maxdepth', '1', '-print', '-quit'];
    const child = this.#namespaces.start(folder, argv, ['ignore', 'pipe', 'pipe']);
    this.#probe = child;
    const kill = () => child.kill('SIGKILL');
    late.addEventListener('abort', kill);
    const { stdout, stderr } = child as ChildProcessWithoutNullStreams;
    const [code, listed, said] = await Promise.all([exitOf(child), text(stdout), text(stderr)]);
    late.removeEventListener('abort', kill);
    this.#probe = undefined;
    return { code, listed, said };
  }

  async #unmount(): Promise<void> {
    const umount = ['umount', '--internal-only', '--no-canonicalize', '--lazy', `./${this.#point.last}`];
    await this.#namespaces.run(this.#point.above, umount);
  }

  /** Removes the mount of a killed supervisor. */
  async sweep(): Promise<void> {
    if (this.#point.mounted() === this.#plan.name) await this.#unmount();
    this.#point.removeFolders();
  }

  /** Ends the process. Later calls have no effect. */
  async end(code: number): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    try {
      // Detached first: no new reader comes, and s3fs stores what it was given.
      await this.sweep();
    } catch (error) {
      process.stderr.write(`mount supervisor: ${(error as Error).message}\n`);
    }
    const server = this.#server;
    if (server?.exitCode === null && server.signalCode === null) {
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await Promise.race([ended, pause(STORED_WITHIN_MS)]);
      server.kill('SIGKILL');
      await ended;
    }
    this.#probe?.kill('SIGKILL');
    this.#point.removeFolders();
    process.exit(code);
  }

  fail(error: unknown): void {
    process.stderr.write(`mount supervisor: ${error instanceof Error ? error.message : String(error)}\n`);
    void this.end(EXIT.failed);
  }
}

process.umask(0o022);
const plan = JSON.parse(process.argv[2] ?? '') as SupervisorPlan;
try {
  const supervisor = new BucketSupervisor(plan);
  if (plan.server === undefined) {
    await supervisor.sweep();
    process.exit(EXIT.done);
  }
  const end = (): void => void supervisor.end(EXIT.done);
  process.stdin.on('error', end).on('close', end).resume();
  process.on('SIGTERM', end);
  setInterval(() => {
    if (!isAlive(plan.holder)) end();
  }, HOLDER_POLL_MS);
  supervisor.start(plan.server).catch((error: unknown) => supervisor.fail(error));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  process.stderr.write(`mount supervisor: ${error.message}\n`);
  process.exit(EXIT.failed);
}
