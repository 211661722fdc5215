import { PortholeError } from '../errors.ts';
import type { ExecProcess, SandboxProvider } from '../ports/sandbox-provider.ts';
import { shellCommand } from '../rules/shell-quote.ts';
import { resolveWorkspacePath } from '../rules/workspace-path.ts';

export interface CommandRequest {
  readonly argv: readonly string[];
  /** Milliseconds; undefined means no limit. */
  readonly timeoutMs?: number | undefined;
  readonly cwd?: string | undefined;
}

export interface RunningCommand {
  readonly process: ExecProcess;
  /** 0–255; 128 + n after signal n; 124 after the time limit. */
  readonly exitCode: Promise<number>;
  /** True once the time limit has struck. */
  readonly timedOut: () => boolean;
}

/** Between SIGTERM and SIGKILL. Below 5 s, because clients give up 5 s after their own time limit. */
const GRACE_MS = 4_000;
/** What `timeout(1)` exits with, and the bridge too. */
const TIMED_OUT = 124;
const SIGNAL_NUMBERS: Record<string, number> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};

/**
 * Runs argv through `bash -c`, quoted word by word, so that builtins work and nothing is injected.
 * Aborting `signal` (the client went away) kills the command's process group.
 * @throws PortholeError `path_outside_workspace`, `invalid_request`, and what `exec` refuses
 */
export async function executeCommand(
  { provider }: { readonly provider: SandboxProvider },
  sandboxId: string,
  { argv, timeoutMs, cwd }: CommandRequest,
  signal?: AbortSignal,
): Promise<RunningCommand> {
  if (argv.some((word) => word.includes('\0'))) {
    throw new PortholeError('invalid_request', 'argv must not contain a NUL character');
  }
  const process = await provider.exec(
    sandboxId,
    {
      argv: ['bash', '-c', shellCommand(argv)],
      cwd: cwd === undefined ? undefined : resolveWorkspacePath(cwd, 'cwd'),
    },
    signal,
  );
  let timedOut = false;
  let grace: NodeJS.Timeout | undefined;
  const limit =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          timedOut = true;
          process.kill('SIGTERM');
          grace = setTimeout(() => process.kill('SIGKILL'), GRACE_MS);
        }, timeoutMs);
  const exitCode = process.exited
    .then((exit) => (timedOut ? TIMED_OUT : (exit.code ?? 128 + (SIGNAL_NUMBERS[exit.signal ?? ''] ?? 0))))
    .finally(() => {
      clearTimeout(limit);
      clearTimeout(grace);
    });
  // Readers of the output may never ask for the exit code; its failure then belongs to nobody.
  exitCode.catch(() => undefined);
  return { process, exitCode, timedOut: () => timedOut };
}
