import { constants } from 'node:os';
import type { Process, ProcessExit, Sandbox, StartOptions } from '@porthole/client';

const SIGNALS: Readonly<Record<string, number>> = constants.signals;

/** Starts a line of the shell. `cwd` may be any folder: the API has only those of /workspace. */
export function startShell(
  { processes }: Sandbox,
  command: string,
  { cwd, ...options }: StartOptions,
): Promise<Process> {
  if (cwd === undefined) return processes.start(command, options);
  return processes.start(['sh', '-c', 'cd -- "$1" && exec sh -c "$2"', 'sh', cwd, command], options);
}

/** The text of one stream, decoded as it arrives, until the process exits. */
export async function* readText(process: Process, type: 'stdout' | 'stderr'): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for await (const event of process.output()) {
    if (event.type === 'cut') throw lost(event.bytes);
    if (event.type !== type) continue;
    const text = decoder.decode(event.data, { stream: true });
    if (text !== '') yield text;
  }
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

export interface ProcessResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** Reads both streams of a new process to its exit, and removes it. */
export async function collectProcess(
  process: Process,
  { onStdout, onStderr, signal }: OutputListeners = {},
): Promise<ProcessResult> {
  const streams = {
    stdout: { decoder: new TextDecoder(), text: '', listener: onStdout },
    stderr: { decoder: new TextDecoder(), text: '', listener: onStderr },
  };
  let exitCode = -1;
  try {
    for await (const event of process.output({ signal })) {
      if (event.type === 'cut') throw lost(event.bytes);
      if (event.type === 'exit') {
        exitCode = exitCodeOf(event.exit);
        continue;
      }
      const stream = streams[event.type];
      const text = stream.decoder.decode(event.data, { stream: true });
      stream.text += text;
      if (text !== '') stream.listener?.(text);
    }
  } finally {
    await process.remove();
  }
  const { stdout, stderr } = streams;
  return {
    stdout: stdout.text + stdout.decoder.decode(),
    stderr: stderr.text + stderr.decoder.decode(),
    exitCode,
  };
}

export interface OutputListeners {
  readonly onStdout?: ((text: string) => void) | undefined;
  readonly onStderr?: ((text: string) => void) | undefined;
  /** Kills the process. */
  readonly signal?: AbortSignal | undefined;
}

/** As a shell has it: 124 after a timeout, 128 and the number of a signal. */
export function exitCodeOf({ code, signal, reason }: ProcessExit): number {
  if (reason === 'timed_out') return 124;
  return code ?? 128 + (SIGNALS[signal ?? ''] ?? constants.signals.SIGKILL);
}

function lost(bytes: number): Error {
  return new Error(`${bytes} bytes of output were dropped before they were read: write them to a file.`);
}
