import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, constants, copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { bundleGuest } from '#adapters/guest/guest-bundle.ts';
import type { IsolationKind } from '#adapters/local/isolation.ts';
import { runsc } from '#test/adapters/local/machine.ts';
import type { ExecCommand, ExecExit, SandboxObservation } from '#core/sandboxes/sandbox-provider.ts';

const REPO = resolve(import.meta.dirname, '../../..');

/** A uid that no other user has here. */
const ORDINARY = 61_234;

export interface HostPlace {
  /** A folder for this test, with the host's data, code and home. */
  readonly folder: string;
  readonly isolation: IsolationKind;
  /** Either the tests' user, root in CI, or a user without rights. */
  readonly as: 'root' | 'ordinary user';
  /** A prefix of its command line that starts it in separate namespaces. */
  readonly within?: readonly string[];
}

/** Puts the code where the host's user can read it, and creates a data folder and a home. */
export async function prepare({ folder, as, isolation }: HostPlace): Promise<void> {
  chmodSync(folder, 0o755);
  const code = join(folder, 'code');
  const adapters = ['guest', 'local', 'sandboxes', 'system'].map((name) => `adapters/${name}`);
  for (const part of [
    'base',
    'protocol',
    'proxy',
    'core',
    'guest',
    ...adapters,
    'test/adapters/local',
    'node_modules/zod',
    'node_modules/lru-cache',
    'node_modules/ws',
    'node_modules/@koromix',
  ]) {
    cpSync(join(REPO, part), join(code, part), { recursive: true });
  }
  // As installed without development packages: the guest is already built.
  mkdirSync(join(code, 'dist/guest'), { recursive: true });
  for (const [name, text] of Object.entries(await bundleGuest())) {
    writeFileSync(join(code, 'dist/guest', name), text);
  }
  for (const file of ['test/contracts/hostile-trees.ts', 'test/support/with-guests.ts']) {
    cpSync(join(REPO, file), join(code, file));
  }
  copyFileSync(join(REPO, 'package.json'), join(code, 'package.json'));
  copyFileSync(process.execPath, join(folder, 'node'), constants.COPYFILE_FICLONE);
  if (isolation === 'gvisor') copyFileSync(runsc, join(folder, 'runsc'), constants.COPYFILE_FICLONE);
  for (const name of ['data', 'home']) {
    mkdirSync(join(folder, name), { mode: 0o700 });
    if (as === 'ordinary user' && process.getuid?.() === 0) chownSync(join(folder, name), ORDINARY, ORDINARY);
  }
}

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: ExecExit;
}

/**
 * A running host process, called like a provider. A failed call rejects with an Error that has the
 * code and the message as its message.
 */
export class DrivenHost {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(reason: Error): void }>();
  #next = 0;

  static async start({ folder, isolation, as, within = [] }: HostPlace, secret = ''): Promise<DrivenHost> {
    const drops = as === 'ordinary user' && process.getuid?.() === 0;
    const script = join(folder, 'code/test/adapters/local/host-driver.ts');
    const node = [join(folder, 'node'), '--disable-warning=ExperimentalWarning'];
    const dropping = drops ? ['setpriv', `--reuid=${ORDINARY}`, `--regid=${ORDINARY}`, '--clear-groups'] : [];
    const [program = '', ...args] = [
      ...within,
      ...dropping,
      ...node,
      script,
      join(folder, 'data'),
      isolation,
      ...(isolation === 'gvisor' ? [join(folder, 'runsc')] : []),
    ];
    const child = spawn(program, args, {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: join(folder, 'home'),
        HOST_SECRET: secret,
        NODE_COMPILE_CACHE: join(folder, 'home/compiled'),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const host = new DrivenHost(child);
    await host.#answer(-1);
    return host;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const { n, value, failed } = JSON.parse(line) as { n: number; value?: unknown; failed?: string };
      const waiting = this.#waiting.get(n);
      this.#waiting.delete(n);
      if (failed === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(failed));
    });
    child.once('exit', () => {
      for (const one of this.#waiting.values()) one.reject(new Error('the host is gone'));
    });
  }

  create = (id: string, network = false): Promise<void> => this.#call('create', id, network);
  stop = (id: string): Promise<void> => this.#call('stop', id);
  resume = (id: string): Promise<void> => this.#call('resume', id);
  destroy = (id: string): Promise<void> => this.#call('destroy', id);
  inspect = (id: string): Promise<SandboxObservation> => this.#call('inspect', id);
  channelPath = (id: string): Promise<string | undefined> => this.#call('channelPath', id);
  channelRequests = (): Promise<number> => this.#call('channelRequests');
  list = (): Promise<string[]> => this.#call('list');
  run = (id: string, ...argv: ExecCommand['argv']): Promise<Outcome> => this.#call('run', id, argv);
  survivesHostileTrees = (ids: readonly string[]): Promise<string[]> =>
    this.#call('survivesHostileTrees', ids);
  talk = (id: string, port: number, word: string): Promise<string> => this.#call('talk', id, port, word);

  /** Runs a shell script, and returns its stdout and stderr together. */
  async shell(id: string, script: string): Promise<string> {
    return (await this.run(id, 'sh', '-c', `exec 2>&1; ${script}`)).stdout;
  }

  /** Ends the host as a power failure would. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  #answer(n: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#waiting.set(n, { resolve, reject }));
  }

  #call<T>(method: string, ...args: unknown[]): Promise<T> {
    const n = this.#next++;
    const answer = this.#answer(n);
    this.#child.stdin?.write(`${JSON.stringify({ n, method, args })}\n`);
    return answer as Promise<T>;
  }
}
