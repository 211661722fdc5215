/** A provider for ComputeSDK. */
import {
  defineProvider,
  type CreateSandboxOptions,
  type FileEntry,
  type Provider,
  type RunCommandOptions,
} from '@computesdk/provider';
import { Porthole, PortholeError, type PortholeOptions, type Sandbox } from '@porthole/client';
import { type FileFailure, readAnyFile, writeAnyFile } from './any-file.ts';
import { collectProcess, type ProcessResult, startShell } from './shell-process.ts';

/** Where sandboxes are created. Defaults to `PORTHOLE_URL` and `PORTHOLE_API_KEY`. */
export type PortholeConfig = Pick<PortholeOptions, 'url' | 'apiKey'>;

/**
 *     const compute = createCompute({ defaultProvider: porthole({}) });
 *     const sandbox = await compute.sandbox.create();
 */
export const porthole: (config: PortholeConfig) => Provider<Sandbox> = defineProvider<
  Sandbox,
  PortholeConfig
>({
  name: 'porthole',
  methods: {
    sandbox: {
      async create(config, options = {}) {
        return named(await new Porthole(config).sandboxes.create(createOptions(options)));
      },
      async getById(config, id) {
        const sandbox = await find(config, id);
        return sandbox === undefined ? null : named(sandbox);
      },
      async list(config) {
        const all: Named[] = [];
        for await (const sandbox of new Porthole(config).sandboxes.list()) all.push(named(sandbox));
        return all;
      },
      async destroy(config, id) {
        await (await find(config, id))?.delete();
      },
      runCommand: run,
      streamCommand: run,
      async getInfo(sandbox) {
        const { state, created_at, timeout_at, tags } = await sandbox.refresh();
        return {
          id: sandbox.id,
          provider: 'porthole',
          status: state === 'running' ? 'running' : 'stopped',
          createdAt: new Date(created_at),
          timeout: timeout_at === null ? 0 : Date.parse(timeout_at) - Date.parse(created_at),
          metadata: tags,
        };
      },
      async getUrl(sandbox, { port, protocol }) {
        const { url } = await sandbox.preview(port);
        return protocol === undefined ? url : url.replace(/^https?(?=:)/, protocol);
      },
      filesystem: {
        async readFile(sandbox, path) {
          const read = await readAnyFile(sandbox, path);
          if (typeof read === 'string') throw failure('read', path, read);
          return new TextDecoder('utf-8', { ignoreBOM: true }).decode(read);
        },
        async writeFile(sandbox, path, content) {
          const failed = await writeAnyFile(sandbox, path, content);
          if (failed !== undefined) throw failure('write', path, failed);
        },
        async mkdir(sandbox, path) {
          await sandbox.exec(['mkdir', '-p', '--', path]).text();
        },
        readdir: listFolder,
        async exists(sandbox, path) {
          return (await sandbox.exec(['test', '-e', path]).collect()).exitCode === 0;
        },
        async remove(sandbox, path) {
          await sandbox.exec(['rm', '-r', '--', path]).text();
        },
      },
    },
  },
});

interface Named {
  readonly sandbox: Sandbox;
  readonly sandboxId: string;
}

function named(sandbox: Sandbox): Named {
  return { sandbox, sandboxId: sandbox.id };
}

/** Undefined if it does not exist. */
async function find(config: PortholeConfig, id: string): Promise<Sandbox | undefined> {
  try {
    return await new Porthole(config).sandboxes.find(id);
  } catch (error) {
    if (error instanceof PortholeError && error.code === 'sandbox_not_found') return undefined;
    throw error;
  }
}

/** ComputeSDK handles `signal`: it deletes a sandbox that nothing waits for. */
function createOptions(options: CreateSandboxOptions): Parameters<Porthole['sandboxes']['create']>[0] {
  const {
    name,
    envs,
    metadata,
    templateId,
    image = templateId,
    timeout,
    signal: _signal,
    ...others
  } = options;
  const unsupported = Object.keys(others).find((option) => others[option] !== undefined);
  if (unsupported !== undefined) {
    throw new TypeError(
      `Porthole has no equivalent of the option ${JSON.stringify(unsupported)}: leave it out.`,
    );
  }
  const tags = Object.entries(metadata ?? {}).map(([key, value]) => [key, String(value)] as const);
  return {
    name,
    image,
    env: envs,
    tags: Object.fromEntries(tags),
    ...(timeout !== undefined && { timeoutSeconds: Math.ceil(timeout / 1_000), onTimeout: 'delete' }),
  };
}

/** A background command runs on after this returns. */
async function run(
  sandbox: Sandbox,
  command: string,
  { cwd, env, timeout, background, onStdout, onStderr }: RunCommandOptions = {},
): Promise<ProcessResult & { readonly durationMs: number }> {
  const began = performance.now();
  const process = await startShell(sandbox, command, { cwd, env, timeoutMs: timeout });
  const result =
    background === true
      ? { stdout: '', stderr: '', exitCode: 0 }
      : await collectProcess(process, { onStdout, onStderr });
  return { ...result, durationMs: Math.round(performance.now() - began) };
}

/** The type as hexadecimal mode, size, time and name of each entry, also where BusyBox is. */
const LIST = 'cd -- "$1" && find . ! -name . -prune -exec stat -c "%f %s %Y %n" {} +';
const FOLDER_MODE = 0x4000;
const TYPE_MASK = 0xf000;

async function listFolder(sandbox: Sandbox, path: string): Promise<FileEntry[]> {
  const lines = (await sandbox.exec(['sh', '-c', LIST, 'sh', path]).text()).split('\n').slice(0, -1);
  return lines.map((line) => {
    const [mode = '', size, seconds, ...name] = line.split(' ');
    const isFolder = (Number.parseInt(mode, 16) & TYPE_MASK) === FOLDER_MODE;
    return {
      name: name.join(' ').replace(/^\.\//, ''),
      type: isFolder ? 'directory' : 'file',
      size: Number(size),
      modified: new Date(Number(seconds) * 1_000),
    };
  });
}

function failure(what: string, path: string, why: FileFailure): Error {
  return new Error(`Cannot ${what} ${JSON.stringify(path)}: ${why.replaceAll('_', ' ')}.`);
}
