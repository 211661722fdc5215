import { PortholeError } from '../errors.ts';
import type { Records } from '../ports/records.ts';
import type { ExecCommand, ExecProcess, SandboxProvider } from '../ports/sandbox-provider.ts';
import { changedProvider } from './changed-provider.ts';
import { whyEnded } from './why-ended.ts';

/**
 * A provider that brings a sandbox back when a command is to run in it and it has died by itself: killed from within, or with its machine. What was wanted decides: one that was
 * stopped on purpose stays stopped. Files are there again; what ran in it is not: a command that
 * ends with its sandbox says so.
 */
export function revivingProvider(
  provider: SandboxProvider,
  records: Pick<Records, 'sandboxes'>,
): SandboxProvider {
  const isWanted = async (id: string) => (await records.sandboxes.get(id))?.desired === 'running';
  const explained = async (id: string, { tty }: ExecCommand, error: unknown): Promise<never> => {
    const isLost = error instanceof PortholeError && error.code === 'exec_transport_error';
    const what = tty === undefined ? 'command' : 'terminal';
    const why = isLost ? await whyEnded({ records, provider }, { id }, what) : undefined;
    throw why === undefined ? error : new PortholeError('exec_transport_error', why, { cause: error });
  };
  const start = async (id: string, command: ExecCommand, signal?: AbortSignal): Promise<ExecProcess> => {
    const process = await provider.exec(id, command, signal);
    const exited = process.exited.catch((error: unknown) => explained(id, command, error));
    // Whoever only reads the output learns of a loss there; a promise that nobody awaits must not
    // end the host.
    exited.catch(() => {});
    return {
      stdin: process.stdin,
      stdout: process.stdout,
      stderr: process.stderr,
      exited,
      kill: (name) => process.kill(name),
      resize: (cols, rows) => process.resize(cols, rows),
    };
  };
  return changedProvider(provider, {
    async callGuest(id, call, signal) {
      try {
        return await provider.callGuest(id, call, signal);
      } catch (error) {
        // Then nothing of a body has been read.
        const isDown = error instanceof PortholeError && error.code === 'sandbox_not_running';
        if (!isDown || !(await isWanted(id))) throw error;
      }
      await provider.resume(id, signal);
      return provider.callGuest(id, call, signal);
    },

    async exec(id, command, signal) {
      try {
        return await start(id, command, signal);
      } catch (error) {
        const isDown = error instanceof PortholeError && error.code === 'sandbox_not_running';
        if (!isDown || !(await isWanted(id))) return explained(id, command, error);
      }
      await provider.resume(id, signal);
      return start(id, command, signal);
    },
  });
}
