import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { runCommand } from '../../../client/cli/run-command.ts';

export interface CommandOutcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  readonly outcome: Promise<CommandOutcome>;
  /** Resolves to the output of the stream so far, once it contains the words. */
  until(words: string, stream?: 'stdout' | 'stderr'): Promise<string>;
}

const MAIN = new URL('../../../client/bin.js', import.meta.url).pathname;

/** `porthole` with these arguments, as a process, against a Porthole. */
export function startPorthole(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  {
    cwd,
    stdin = '',
    main = MAIN,
  }: { readonly cwd?: string; readonly stdin?: string; readonly main?: string } = {},
): RunningCommand {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...words], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/', ...environment },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const said = { stdout: '', stderr: '' };
  const wake = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
      for (const each of wake) each();
    });
  }
  child.stdin.on('error', () => undefined).end(stdin);
  const outcome = once(child, 'close').then(() => ({ code: child.exitCode, ...said }));
  return {
    child,
    outcome,
    until: (words, stream = 'stdout') =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!said[stream].includes(words)) return;
          wake.delete(look);
          resolve(said[stream]);
        };
        wake.add(look);
        look();
        void outcome.then(({ code, stderr }) =>
          reject(new Error(`it ended with ${code} and never said ${words}: ${stderr}`)),
        );
      }),
  };
}

/** Like `startPorthole`, to its end. */
export function porthole(...args: Parameters<typeof startPorthole>): Promise<CommandOutcome> {
  return startPorthole(...args).outcome;
}

/** Like `porthole`, in this process. `untilLine` ends it after its first line, as Ctrl-C does. */
export async function runPorthole(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  { stdin = '', untilLine = false }: { readonly stdin?: string; readonly untilLine?: boolean } = {},
): Promise<CommandOutcome> {
  const end = new AbortController();
  const said = { stdout: '', stderr: '' };
  const collect = (name: keyof typeof said) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        said[name] += chunk.toString();
        if (untilLine) end.abort();
        done();
      },
    }) as unknown as NodeJS.WriteStream;
  const streams = {
    stdin: Readable.from([Buffer.from(stdin)]) as unknown as NodeJS.ReadStream,
    stdout: collect('stdout'),
    stderr: collect('stderr'),
    environment,
  };
  const code = await runCommand(words, streams, end.signal);
  return { code, ...said };
}
