/** A sandbox provider for TanStack AI. */
import { constants } from 'node:os';
import { posix } from 'node:path';
import { Porthole, PortholeError, type PortholeOptions, type Sandbox } from '@porthole/client';
import {
  createExecBackedGit,
  type SandboxCapabilities,
  type SandboxFs,
  type SandboxHandle,
  type SandboxProcess,
  type SandboxProvider,
  UnsupportedCapabilityError,
} from '@tanstack/ai-sandbox';
import { collectProcess, exitCodeOf, readText, startShell } from './shell-process.ts';

const NAME = 'porthole';
const WORKSPACE = '/workspace';

/** No snapshots: checkpoints are deleted with their sandbox, so they cannot restore a lost one. */
const CAPABILITIES: SandboxCapabilities = {
  fs: true,
  exec: true,
  env: true,
  ports: true,
  backgroundProcesses: true,
  writableStdin: true,
  snapshots: false,
  networkPolicy: false,
  durableFilesystem: true,
  fork: true,
};

export interface PortholeSandboxOptions extends Pick<PortholeOptions, 'url' | 'apiKey'> {
  /** Image of new sandboxes. @default the installation's */
  readonly image?: string | undefined;
}

/**
 *     const sandbox = defineSandbox({ id: 'app', provider: portholeSandbox(), workspace });
 */
export function portholeSandbox({ image, ...options }: PortholeSandboxOptions = {}): SandboxProvider {
  const { sandboxes } = new Porthole(options);
  const find = async (id: string) => {
    try {
      return await sandboxes.find(id);
    } catch (error) {
      if (error instanceof PortholeError && error.code === 'sandbox_not_found') return undefined;
      throw error;
    }
  };
  const handleOf = (sandbox: Sandbox, env: Record<string, string> = {}): SandboxHandle =>
    new PortholeHandle(sandbox, env, async (id) => handleOf(await sandboxes.get(id), env));
  return {
    name: NAME,
    capabilities: () => CAPABILITIES,
    async create({ env, signal }) {
      return handleOf(await sandboxes.create({ image, env, signal }), env);
    },
    async resume({ id }) {
      const sandbox = await find(id);
      if (sandbox === undefined) return null;
      await sandbox.resume();
      return handleOf(sandbox);
    },
    async destroy({ id }) {
      await (await find(id))?.delete();
    },
  };
}

class PortholeHandle implements SandboxHandle {
  readonly id: string;
  readonly provider: string = NAME;
  readonly workspaceRoot: string = WORKSPACE;
  readonly capabilities: SandboxCapabilities = CAPABILITIES;
  readonly fs: SandboxFs;
  readonly process: SandboxProcess;
  readonly git: SandboxHandle['git'];
  readonly ports: SandboxHandle['ports'];
  readonly env: SandboxHandle['env'];
  readonly #sandbox: Sandbox;
  readonly #open: (id: string) => Promise<SandboxHandle>;

  /** @param env variables of every process, which `env.set` adds to */
  constructor(sandbox: Sandbox, env: Record<string, string>, open: (id: string) => Promise<SandboxHandle>) {
    this.id = sandbox.id;
    this.#sandbox = sandbox;
    this.#open = open;
    const variables = { ...env };
    this.fs = filesOf(sandbox);
    this.process = processesOf(sandbox, variables);
    this.git = createExecBackedGit(this.process, WORKSPACE);
    this.ports = { connect: async (port) => ({ url: (await sandbox.preview(port)).url }) };
    this.env = { set: async (more) => void Object.assign(variables, more) };
  }

  snapshot(): Promise<never> {
    return Promise.reject(new UnsupportedCapabilityError(NAME, 'snapshots', 'Use fork().'));
  }

  async fork(): Promise<SandboxHandle> {
    const { id } = await this.#sandbox.checkpoints.create();
    const { sandboxes, errors } = await this.#sandbox.checkpoints.fork(id);
    const [made] = sandboxes;
    if (made === undefined) throw new Error(`The fork failed: ${errors[0]?.error ?? ''}`);
    return this.#open(made.id);
  }

  destroy(): Promise<void> {
    return this.#sandbox.delete();
  }
}

/** Paths may have `.` and `..` here. */
function filesOf(sandbox: Sandbox): SandboxFs {
  const { files } = sandbox;
  const at = (path: string) => posix.resolve(WORKSPACE, path);
  return {
    read: (path) => files.text(at(path)),
    readBytes: (path) => files.bytes(at(path)),
    write: (path, data) => files.write(at(path), data),
    async list(path) {
      const { entries } = await files.list(at(path));
      return entries.map(({ name, path: absolute, type }) => ({
        name,
        path: absolute,
        type: type === 'directory' ? 'dir' : 'file',
      }));
    },
    mkdir: (path) => files.makeFolder(at(path)),
    remove: (path) => files.delete(at(path), { recursive: true }),
    rename: (from, to) => files.move(at(from), at(to), { overwrite: true }),
    exists: async (path) => (await sandbox.exec(['test', '-e', at(path)]).collect()).exitCode === 0,
  };
}

function processesOf(sandbox: Sandbox, variables: Readonly<Record<string, string>>): SandboxProcess {
  return {
    async exec(command, { cwd, env, signal } = {}) {
      const process = await startShell(sandbox, command, { cwd, env: { ...variables, ...env }, signal });
      return collectProcess(process, { signal });
    },
    async spawn(command, { cwd, env, signal } = {}) {
      const options = { cwd, env: { ...variables, ...env }, stdin: true };
      const process = await startShell(sandbox, command, { ...options, signal });
      const kill = (name: string) => process.signal(name).then(() => undefined);
      signal?.addEventListener('abort', () => void kill('SIGKILL').catch(() => undefined), { once: true });
      return {
        pid: process.info.pid ?? 0,
        stdout: readText(process, 'stdout'),
        stderr: readText(process, 'stderr'),
        stdin: {
          write: (data) => process.input(data),
          end: () => process.input('', { eof: true }),
        },
        wait: async () => exitCodeOf(await process.wait()),
        kill: (name = 'SIGTERM') => kill(typeof name === 'number' ? signalName(name) : name),
      };
    },
  };
}

function signalName(number: number): string {
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  if (name === undefined) throw new TypeError(`kill() needs a signal, got ${number}.`);
  return name;
}
