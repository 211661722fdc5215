import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

export interface HostProcess {
  readonly child: ChildProcess;
  readonly port: number;
  /** Its output so far, both streams. */
  output(): string;
  /** Sends a signal and waits for the exit; resolves to the exit code or the signal's name. */
  end(signal?: NodeJS.Signals): Promise<number | string | null>;
}

export interface HostProcessOptions {
  readonly dataDir: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly uid?: number;
  readonly gid?: number;
  readonly cwd?: string;
  /** Its limit of open files. */
  readonly openFiles?: number;
  /** Its program, if not that of this folder. */
  readonly main?: string;
}

const MAIN = new URL('../../host/main.js', import.meta.url).pathname;

/** The host as a separate process, as `npm start` runs it, once it reports that it is up. */
export async function startHostProcess({
  dataDir,
  environment = {},
  cwd,
  openFiles,
  main = MAIN,
  ...user
}: HostProcessOptions): Promise<HostProcess> {
  const limited = openFiles === undefined ? [] : ['prlimit', `--nofile=${openFiles}`];
  const [program, ...args] = [...limited, process.execPath, '--disable-warning=ExperimentalWarning', main];
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '/',
      PORT: '0',
      PORTHOLE_DATA_DIR: dataDir,
      // Suites create more sandboxes than the default quota.
      PORTHOLE_QUOTAS: JSON.stringify({ default: { sandboxes: null, runs: null, previews: null } }),
      PORTHOLE_REQUEST_LIMITS: JSON.stringify({ wrong_secrets_per_minute: 100_000 }),
      ...environment,
    },
    ...(cwd === undefined ? {} : { cwd }),
    ...user,
  });
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const port = await new Promise<number>((resolve, reject) => {
    lines.on('line', (line) => {
      text += `${line}\n`;
      const found = /^\s+API\s+http:\/\/.*:(\d+)$/.exec(line)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    child.once('exit', (code) => reject(new Error(`the host ended with ${code} before it was up:\n${text}`)));
  });
  return {
    child,
    port,
    output: () => text,
    async end(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? child.signalCode;
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
      return child.exitCode ?? child.signalCode;
    },
  };
}

/** Resident memory of a process, in MiB: now, and the most since its start or the last reset. */
export async function residentMemory({
  child,
}: Pick<HostProcess, 'child'>): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
  const field = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

/** Resets the peak: proc_pid_clear_refs(5). */
export async function resetPeakMemory({ child }: Pick<HostProcess, 'child'>): Promise<void> {
  await writeFile(`/proc/${child.pid}/clear_refs`, '5');
}
