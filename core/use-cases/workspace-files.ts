import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { type ErrorCode, PortholeError } from '../errors.ts';
import type { ExecProcess, SandboxProvider } from '../ports/sandbox-provider.ts';
import { resolveWorkspacePath } from '../rules/workspace-path.ts';

/**
 * Files through nothing but a POSIX shell in the sandbox, so that every provider and image has them. `$1` is the path below the workspace. Symbolic links are
 * resolved there, and refused when they leave the workspace.
 */
const PROLOGUE = `
root=$(cd -P -- "\${WORKSPACE:-/workspace}" && pwd -P) || exit 70
outside() { echo "outside" >&2; exit 43; }
inside() { case "$1/" in "$root"/*) ;; *) outside ;; esac }
file=$root/$1
`;

const READ = `${PROLOGUE}
[ -e "$file" ] || exit 44
[ -d "$file" ] && exit 45
real=$(readlink -f -- "$file") || exit 44
inside "$real"
exec 3< "$real" || exit 46
echo ready >&2
exec cat <&3
`;

const WRITE = `${PROLOGUE}
[ -d "$file" ] && exit 45
if [ -L "$file" ]; then file=$(readlink -f -- "$file") || outside; inside "$file"; fi
folder=\${file%/*}
there=$folder
while [ ! -d "$there" ]; do there=\${there%/*}; done
real=$(cd -P -- "$there" && pwd -P) || exit 46
inside "$real"
mkdir -p -- "$folder" || exit 46
temp=$(mktemp "$folder/.porthole-XXXXXXXX") || exit 46
trap 'rm -f -- "$temp"' EXIT
trap 'exit 46' HUP INT TERM
echo ready >&2
cat > "$temp" || exit 46
chmod 0644 "$temp" && mv -f -- "$temp" "$file" || exit 46
`;

/** What the scripts exit with → how a caller is told. */
const FAILURES: Record<number, (path: string) => PortholeError> = {
  43: () => new PortholeError('path_outside_workspace', 'path must resolve to a location within /workspace'),
  44: (path) => new PortholeError('workspace_read_not_found', `File not found: ${path}`),
  45: (path) => new PortholeError('invalid_request', `${path} is a directory: name a file in it.`),
};

export interface FileDeps {
  readonly provider: SandboxProvider;
}

/**
 * The bytes of a file, as they come. Resolves once the file is open, so that a missing one is an error and not an empty stream.
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`, `exec_transport_error`
 */
export async function readWorkspaceFile(
  { provider }: FileDeps,
  sandboxId: string,
  path: string,
  signal?: AbortSignal,
): Promise<Readable> {
  const absolute = resolveWorkspacePath(path, 'path');
  const process = await provider.exec(sandboxId, { argv: ['sh', '-c', READ, 'sh', below(absolute)] }, signal);
  await ready(process, absolute, 'exec_transport_error', 'read failed');
  // Ended early (the reader went away): nothing must be left running.
  process.stdout.once('close', () => process.kill('SIGKILL'));
  return process.stdout;
}

/**
 * Writes a file from a stream, whole or not at all: into a temporary file beside it, renamed at the end.
 * @throws PortholeError `path_outside_workspace`, `invalid_request`, `workspace_archive_write_error`, or the stream's own error
 */
export async function writeWorkspaceFile(
  { provider }: FileDeps,
  sandboxId: string,
  path: string,
  content: Readable,
  signal?: AbortSignal,
): Promise<void> {
  const absolute = resolveWorkspacePath(path, 'path');
  signal?.throwIfAborted();
  // Without the signal: it would kill the script before its trap has removed the temporary file.
  const process = await provider.exec(sandboxId, {
    argv: ['sh', '-c', WRITE, 'sh', below(absolute)],
    stdin: true,
  });
  process.stdout.resume();
  try {
    await ready(process, absolute, 'workspace_archive_write_error', 'write failed');
    if (process.stdin === null) throw new TypeError('exec was asked for stdin and gave none');
    await feed(content, process.stdin, signal);
  } catch (error) {
    await endScript(process);
    throw error;
  }
  await succeeded(process, absolute, 'workspace_archive_write_error', 'write failed');
}

/**
 * Copies with back-pressure, and ends the target only when the source has ended well: an end is what makes the file, so a broken upload
 * must never look like one (which is why this is no `pipeline`).
 */
async function feed(content: Readable, target: Writable, signal: AbortSignal | undefined): Promise<void> {
  const broken = new AbortController();
  target.once('error', (error) => broken.abort(error));
  const over = signal === undefined ? broken.signal : AbortSignal.any([broken.signal, signal]);
  for await (const chunk of content) {
    over.throwIfAborted();
    if (!target.write(chunk)) await once(target, 'drain', { signal: over });
  }
  over.throwIfAborted();
  target.end();
}

/** Enough for a shell to run its trap. */
const GRACE_MS = 2_000;

/** SIGTERM first: the script's trap removes the temporary file. */
async function endScript(process: ExecProcess): Promise<void> {
  process.kill('SIGTERM');
  const grace = setTimeout(() => process.kill('SIGKILL'), GRACE_MS);
  await process.exited.catch(() => undefined);
  clearTimeout(grace);
}

function below(absolute: string): string {
  return absolute.slice('/workspace'.length).replace(/^\//, '');
}

/** Waits for the script's word that the file is open, or for its failure. */
async function ready(process: ExecProcess, path: string, code: ErrorCode, what: string): Promise<void> {
  const said = await new Promise<string>((resolve) => {
    let text = '';
    process.stderr.setEncoding('utf8');
    process.stderr.on('data', (chunk: string) => {
      if (text.length < 4_096) text += chunk;
      if (text.includes('ready\n')) resolve(text);
    });
    process.stderr.once('close', () => resolve(text));
    process.stderr.once('end', () => resolve(text));
  });
  if (said.includes('ready\n')) return;
  await succeeded(process, path, code, what, said);
  throw new PortholeError(code, `${what}: ${path}: the shell in the sandbox said nothing.`);
}

async function succeeded(
  process: ExecProcess,
  path: string,
  code: ErrorCode,
  what: string,
  said = '',
): Promise<void> {
  process.stdout.resume();
  const exit = await process.exited;
  if (exit.code === 0) return;
  const failure = FAILURES[exit.code ?? -1];
  if (failure !== undefined) throw failure(path);
  throw new PortholeError(
    code,
    `${what}: ${path}: ${said.trim().slice(0, 200) || `exit ${exit.code ?? exit.signal}`}`,
  );
}
