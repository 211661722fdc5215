import type { ExecCommand, ExecExit, SandboxProvider } from '../ports/sandbox-provider.ts';

/** Runs a command of ours whose output says nothing, and waits for its end. */
export async function runToEnd(
  provider: Pick<SandboxProvider, 'exec'>,
  sandboxId: string,
  command: ExecCommand,
  signal?: AbortSignal,
): Promise<ExecExit> {
  const process = await provider.exec(sandboxId, command, signal);
  process.stdout.resume();
  process.stderr.resume();
  return process.exited;
}
