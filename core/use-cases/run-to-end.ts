import type { ExecCommand, ExecExit, SandboxProvider } from '../ports/sandbox-provider.ts';

/** Runs a command of ours whose output says nothing, and waits for its end; one that takes longer than `withinMs` is killed. */
export async function runToEnd(
  provider: Pick<SandboxProvider, 'exec'>,
  sandboxId: string,
  command: ExecCommand,
  signal?: AbortSignal,
  withinMs?: number,
): Promise<ExecExit> {
  const process = await provider.exec(sandboxId, command, signal);
  process.stdout.resume();
  process.stderr.resume();
  if (withinMs === undefined) return process.exited;
  const late = setTimeout(() => process.kill('SIGKILL'), withinMs);
  return process.exited.finally(() => clearTimeout(late));
}
