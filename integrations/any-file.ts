/** Files anywhere in a sandbox, by its shell: the API has only those of /workspace. */
import type { Sandbox } from '@porthole/client';

export type FileFailure = 'file_not_found' | 'is_directory' | 'permission_denied';

/** Exit codes of the scripts below. */
const FAILURES: Readonly<Record<number, FileFailure>> = {
  3: 'file_not_found',
  4: 'is_directory',
  5: 'permission_denied',
};
const READ = '[ -e "$1" ] || exit 3; [ ! -d "$1" ] || exit 4; [ -r "$1" ] || exit 5; exec cat -- "$1"';
// Reads its input to the end also when it fails: a full pipe without a reader blocks the sender.
const WRITE = `if [ -d "$1" ]; then code=4
elif mkdir -p -- "$(dirname -- "$1")" && cat > "$1"; then code=0
else code=5; fi
cat > /dev/null; exit $code`;

export async function readAnyFile(sandbox: Sandbox, path: string): Promise<Uint8Array | FileFailure> {
  const chunks: Uint8Array[] = [];
  let exitCode = -1;
  for await (const event of sandbox.exec(['sh', '-c', READ, 'sh', path])) {
    if (event.type === 'exit') exitCode = event.exitCode;
    else if (event.type === 'stdout') chunks.push(event.data);
  }
  return exitCode === 0 ? new Uint8Array(Buffer.concat(chunks)) : failureOf(exitCode);
}

/** Creates missing folders. */
export async function writeAnyFile(
  sandbox: Sandbox,
  path: string,
  content: string | Uint8Array,
): Promise<FileFailure | undefined> {
  const writing = await sandbox.processes.start(['sh', '-c', WRITE, 'sh', path], { stdin: true });
  try {
    await writing.input(content, { eof: true });
    const { code } = await writing.wait();
    return code === 0 ? undefined : failureOf(code ?? -1);
  } finally {
    await writing.remove();
  }
}

function failureOf(exitCode: number): FileFailure {
  return FAILURES[exitCode] ?? 'permission_denied';
}
