import { matchesGlob } from 'node:path';
import { type Context, createContext, Script } from 'node:vm';
import { PortholeError } from '../../base/errors.ts';
import { resolveWorkspacePath } from '../../base/workspace-path.ts';
import type { FileStat, SearchQuery, TextMatch } from '../../protocol/guest/files-protocol.ts';
import { MAX_MATCH_TEXT_CHARS } from '../../protocol/guest/files-protocol.ts';
import { Yielder } from './descriptors.ts';
import { listFiles } from './list-files.ts';
import { openFile, readPieces } from './read-file.ts';
import type { Workspace } from './workspace.ts';

/** Entries below the folder that a search visits, and how deep it goes. */
const MAX_VISITED = 50_000;
const DEPTH = 32;
/** Larger files are data or bundles, in bytes. */
const MAX_FILE_BYTES = 1_048_576;
const MAX_READ_BYTES = 256 * 1_048_576;
/** Longest search, in milliseconds: files of a mounted bucket come over a network. */
const MAX_SEARCH_MS = 15_000;
/** Characters before a match that is far to the right in its line. */
const BEFORE = 60;
/** Longest evaluation of an expression, in milliseconds: the guest serves nothing meanwhile. */
const EVALUATES_MS = 250;
/** Characters of a line that a pattern sees: `.*x` takes quadratic time. */
const MAX_LINE_CHARS = 4_000;
/** Names that are compared at once: each limited evaluation costs a thread. */
const BATCH = 200;

export interface SearchOptions extends SearchQuery {
  /** Names of folders that are left out, at any depth. */
  readonly skipped: ReadonlySet<string>;
  readonly most: number;
}

/** Where a line matches, or -1. */
type Finder = (line: string) => number;

/**
 * Lines below a folder that contain a text, in upper or lower case, or match a pattern; or files,
 * if there is neither. Leaves out files that are not text or have more than 1 MiB, and files that
 * disappear or cannot be read.
 * @returns whether there may be more
 * @throws as `listFiles` does; PortholeError `invalid_request` for a pattern or a glob
 */
export async function* searchFiles(
  workspace: Workspace,
  folder: string,
  { skipped, most, ...query }: SearchOptions,
  signal: AbortSignal,
): AsyncGenerator<TextMatch, boolean, undefined> {
  const finder = finderOf(query);
  const yielder = new Yielder();
  const ends = performance.now() + MAX_SEARCH_MS;
  let read = 0;
  let count = 0;
  const entries = listFiles(workspace, folder, { depth: DEPTH, most: MAX_VISITED, skipped });
  const files = matchingFiles(entries, resolveWorkspacePath(folder, 'path'), query.glob);
  try {
    for (;;) {
      const { value, done } = await files.next();
      if (done === true) return value;
      if (performance.now() > ends) return true;
      signal.throwIfAborted();
      const matches = finder === undefined ? [{ line: 0, text: '' }] : [];
      if (finder !== undefined && value.size <= MAX_FILE_BYTES) {
        read += value.size;
        if (read > MAX_READ_BYTES) return true;
        const content = await textOf(workspace, value.path);
        if (content !== undefined) matches.push(...finder(content, most - count + 1));
      }
      for (const match of matches) {
        if (count === most) return true;
        count += 1;
        yield { path: value.path, ...match };
      }
      await yielder.pause();
    }
  } finally {
    // Closes the folders of a search that ended early.
    await entries.return(true);
  }
}

/** The files of a listing, those that match the glob. @returns whether the list is cut */
async function* matchingFiles(
  entries: AsyncGenerator<FileStat, boolean, undefined>,
  folder: string,
  glob: string | undefined,
): AsyncGenerator<FileStat, boolean, undefined> {
  let batch: FileStat[] = [];
  for (;;) {
    const { value, done } = await entries.next();
    if (done !== true && value.type === 'file') batch.push(value);
    if (done === true || batch.length === BATCH) {
      const files = batch;
      yield* glob === undefined
        ? files
        : limited('glob', () => files.filter(({ path }) => matchesGlob(path.slice(folder.length + 1), glob)));
      batch = [];
    }
    if (done === true) return value;
  }
}

type Found = Omit<TextMatch, 'path'>;

/** Finds lines in a content, at most so many. Undefined: the search is for files. */
function finderOf({
  text,
  pattern,
  ignore_case: ignoresCase,
}: SearchQuery): ((content: string, most: number) => Found[]) | undefined {
  if (pattern !== undefined) {
    const expression = limited('pattern', () => new RegExp(pattern, ignoresCase ? 'i' : ''));
    return (content, most) =>
      limited('pattern', () =>
        linesIn(content, (line) => line.slice(0, MAX_LINE_CHARS).search(expression), most),
      );
  }
  if (text === undefined) return undefined;
  const sought = text.toLowerCase();
  return (content, most) =>
    content.toLowerCase().includes(sought)
      ? linesIn(content, (line) => line.toLowerCase().indexOf(sought), most)
      : [];
}

/** Undefined for a file that is not text, or that is gone or unreadable by now. */
async function textOf(workspace: Workspace, path: string): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  try {
    const file = await openFile(workspace, path);
    // It may have grown since it was listed.
    for await (const piece of readPieces(file, 0, Math.min(file.size, MAX_FILE_BYTES))) {
      if (piece.includes(0)) return undefined;
      pieces.push(piece);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(pieces).toString('utf8');
}

function linesIn(content: string, find: Finder, most: number): Found[] {
  const found: Found[] = [];
  for (const [index, line] of content.split('\n').entries()) {
    const at = find(line);
    if (at === -1) continue;
    const from = at < MAX_MATCH_TEXT_CHARS - BEFORE ? 0 : at - BEFORE;
    found.push({ line: index + 1, text: line.slice(from, from + MAX_MATCH_TEXT_CHARS) });
    if (found.length === most) break;
  }
  return found;
}

const evaluation: { run?: () => unknown } = {};
const evaluate = new Script('evaluation.run()');
/** Made by the first evaluation: most guests search nothing. */
let context: Context | undefined;

/**
 * ReDoS: an expression of a caller may take exponential time, also as a glob. Only the time limit
 * of a script interrupts it.
 * @throws PortholeError `invalid_request` for an expression that fails or takes longer
 */
function limited<T>(field: 'glob' | 'pattern', run: () => T): T {
  if (context === undefined) {
    context = createContext({ evaluation });
    // The first call loads its parts, and must not be interrupted.
    matchesGlob('', '*');
  }
  evaluation.run = run;
  try {
    return evaluate.runInContext(context, { timeout: EVALUATES_MS }) as T;
  } catch (error) {
    const isSlow = (error as { readonly code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    throw new PortholeError(
      'invalid_request',
      isSlow ? `${field}: it takes too long` : `${field}: ${(error as Error).message.slice(0, 300)}`,
      isSlow ? { remedy: 'Make it simpler: fewer repetitions.' } : {},
    );
  } finally {
    delete evaluation.run;
  }
}
