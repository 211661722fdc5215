/** A sandbox for the `bash-tool` of the AI SDK. */
import type { Sandbox } from '@porthole/client';
import type { Sandbox as BashToolSandbox } from 'bash-tool';

export interface BashToolSandboxOptions {
  /** Milliseconds after which a command is killed. Without it there is no limit. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Commands run in Bash, and files are those of the sandbox.
 *
 *     const { tools } = await createBashTool({ sandbox: bashToolSandbox(sandbox) });
 */
export function bashToolSandbox(
  sandbox: Sandbox,
  { timeoutMs }: BashToolSandboxOptions = {},
): BashToolSandbox {
  return {
    async executeCommand(command) {
      const { stdout, stderr, exitCode, truncated } = await sandbox
        .exec(['bash', '-c', command], { timeoutMs })
        .collect();
      const note = truncated ? '\nOutput beyond 16 MiB was dropped: write it to a file.' : '';
      return { stdout, stderr: `${stderr}${note}`, exitCode };
    },
    readFile(path) {
      return sandbox.files.text(path);
    },
    async writeFiles(files) {
      for (const { path, content } of files) await sandbox.files.write(path, content);
    },
  };
}
