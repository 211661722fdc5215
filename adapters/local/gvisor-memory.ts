/** Saves the memory of sandboxes in gVisor: `runsc checkpoint`, from inside their namespaces. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { PortholeError } from '#base/errors.ts';
import { chainOf } from './end-processes.ts';
import { childrenOf, type ProcessIdentity } from './process-identity.ts';
import { SYSTEM_PATH } from './spawn-sandbox.ts';

/** How long saving may take, in ms: some 2 GiB on a slow disk. */
const WITHIN_MS = 60_000;

const MAX_REASON = 300;

export class MemoryNotSaved extends PortholeError {
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super('memory_not_supported', `memory: ${reason}`, {
      remedy: 'Leave it out: declared servers start again with the files.',
      cause,
    });
    this.reason = reason;
  }
}

interface Runsc {
  readonly process: ProcessIdentity;
  /** The program and its flags before the command. */
  readonly argv: readonly string[];
}

/** The process of runsc among the processes around a sandbox. */
function runscOf(outermost: ProcessIdentity): Runsc {
  for (const process of chainOf(outermost)) {
    const argv = readFileSync(`/proc/${process.pid}/cmdline`, 'utf8').split('\0');
    const command = argv.findIndex((word) => word === 'run' || word === 'restore');
    if (command > 0 && argv.some((word) => word.startsWith('--bundle='))) {
      return { process, argv: argv.slice(0, command) };
    }
  }
  throw new MemoryNotSaved('the processes of the sandbox are not as expected');
}

/** Bytes of memory of the programs inside: what an image has at least. */
export function memoryInUse(outermost: ProcessIdentity): number {
  const sizes = childrenOf(runscOf(outermost).process).map(({ pid }) => {
    const [, kib = '0'] = /^RssShmem:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) * 1024;
  });
  return Math.max(0, ...sizes);
}

/**
 * Writes the memory of a running sandbox into a folder. Then the sandbox ends, or goes on without
 * its connections to the host.
 * @param owner of the sandbox and the folder, if the host is root
 * @throws PortholeError `memory_not_supported` with the reason of runsc
 */
export async function saveGvisorMemory(
  outermost: ProcessIdentity,
  folder: string,
  owner: number | undefined,
  goesOn: boolean,
): Promise<void> {
  const { argv } = runscOf(outermost);
  const drop =
    owner === undefined ? [] : ['setpriv', `--reuid=${owner}`, `--regid=${owner}`, '--clear-groups', '--'];
  const { pid } = outermost;
  // Its user namespace owns the others; that of runsc, inside it, does not.
  const enter = ['nsenter', `--target=${pid}`, '--user', '--mount', `--pid=/proc/${pid}/ns/pid_for_children`];
  // The folder's path does not exist in those namespaces.
  const leave = goesOn ? ['--leave-running'] : [];
  const save = ['checkpoint', ...leave, '--image-path=/proc/self/fd/3', 'sandbox'];
  const [program = '', ...args] = [...drop, ...enter, '--preserve-credentials', '--', ...argv, ...save];
  const descriptor = openSync(folder, 'r');
  try {
    const child = spawn(program, args, {
      cwd: '/',
      env: SYSTEM_PATH,
      stdio: ['ignore', 'ignore', 'pipe', descriptor],
      timeout: WITHIN_MS,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      if (said.length < MAX_REASON) said += chunk.toString();
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === 0) return;
    throw new MemoryNotSaved(reasonOf(said), new Error(`runsc checkpoint: exit code ${code}: ${said}`));
  } finally {
    closeSync(descriptor);
  }
}

function reasonOf(said: string): string {
  if (said.includes('bound host socket')) {
    return 'a program listens on a socket in /workspace. Let it make its socket in /tmp';
  }
  const [line = ''] = said.split('\n');
  // Where it was to end with its processes, runsc ends with them, and may say nothing.
  return line === '' ? 'gVisor did not save it' : `gVisor did not save it: ${line.slice(0, MAX_REASON)}`;
}
