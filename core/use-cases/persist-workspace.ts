import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { PortholeError } from '../errors.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { outputOf } from './output-of.ts';
import { IN_WORKSPACE } from './workspace-script.ts';

/**
 * Everything below the workspace on its own file system, as `./…`. The arguments are patterns to leave out; uploads that are under way are never in it. GNU's exit code 1 only says that a file changed
 * while it was read, as files in a living workspace do.
 */
const PERSIST = `${IN_WORKSPACE}
about=$(tar --help 2>&1)
case "$about" in *one-file-system*) set -- --one-file-system "$@" ;; esac
tar -cf - --exclude='.porthole-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]' "$@" .
code=$?
case "$code$about" in 1*GNU*) exit 0 ;; esac
exit "$code"
`;

/** More than tar has to say about one failure. */
const MAX_WORDS = 4_096;

/**
 * The workspace as a plain tar, as it comes. Resolves once it begins. What fails later makes the stream fail, so that a part is never taken for the whole.
 * @param excludes paths below the workspace
 * @throws PortholeError `invalid_request`, `workspace_archive_read_error`, and what `exec` refuses
 */
export async function persistWorkspace(
  { provider }: { readonly provider: Pick<SandboxProvider, 'exec'> },
  sandboxId: string,
  excludes: readonly string[],
  signal?: AbortSignal,
): Promise<Readable> {
  const patterns = excludes.flatMap((path) => excludePattern(path) ?? []);
  const process = await provider.exec(sandboxId, { argv: ['sh', '-c', PERSIST, 'sh', ...patterns] }, signal);
  let said = '';
  process.stderr.setEncoding('utf8');
  process.stderr.on('data', (words: string) => {
    if (said.length < MAX_WORDS) said += words;
  });
  const archive = outputOf(process, ({ code, signal: killed }) => {
    const reason = said.trim().split('\n').at(0)?.slice(0, 200);
    return new PortholeError(
      'workspace_archive_read_error',
      `tar failed (exit ${code ?? killed}): ${reason ?? ''}`,
    );
  });
  await once(archive, 'readable');
  return archive;
}

/** One argument for tar, which takes it literally; undefined for nothing. */
function excludePattern(path: string): string | undefined {
  if (path.includes('..')) throw new PortholeError('invalid_request', 'exclude paths must not contain ".."');
  if (path.includes('\0')) {
    throw new PortholeError('invalid_request', 'exclude paths must not contain a NUL character');
  }
  const below = path.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '');
  if (below === '' || below === '.') return undefined;
  return `--exclude=./${below.replace(/[*?[\]\\]/g, '\\$&')}`;
}
