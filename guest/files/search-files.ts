import type { TextMatch } from '../protocol/files-protocol.ts';
import { MOST_MATCH_TEXT } from '../protocol/files-protocol.ts';
import { Slices } from './descriptors.ts';
import { listFiles } from './list-files.ts';
import { openFile, readPieces } from './read-file.ts';
import type { Workspace } from './workspace.ts';

/** Entries below the folder that a search visits, and how deep it goes. */
const MOST_VISITED = 50_000;
const DEPTH = 32;
/** Larger files are data or bundles, in bytes. */
const LARGEST = 1_048_576;
/** Bytes that one search reads. */
const MOST_READ = 256 * 1_048_576;
/** Longest search, in milliseconds: files of a mounted bucket come over a network. */
const LONGEST_MS = 15_000;
/** Characters before a match that is far to the right in its line. */
const BEFORE = 60;

export interface SearchOptions {
  readonly text: string;
  /** Names of folders that are left out, at any depth. */
  readonly skipped: ReadonlySet<string>;
  /** Matches beyond are left out. */
  readonly most: number;
}

/**
 * Lines below a folder that contain a text, in upper or lower case. Leaves out files that are not
 * text or have more than 1 MiB, and files that disappear or cannot be read.
 * @returns whether there may be more
 * @throws as `listFiles` does
 */
export async function* searchFiles(
  workspace: Workspace,
  folder: string,
  { text, skipped, most }: SearchOptions,
  signal: AbortSignal,
): AsyncGenerator<TextMatch, boolean, undefined> {
  const sought = text.toLowerCase();
  const slices = new Slices();
  const ends = performance.now() + LONGEST_MS;
  let read = 0;
  let count = 0;
  const entries = listFiles(workspace, folder, { depth: DEPTH, most: MOST_VISITED, skipped });
  try {
    for (;;) {
      const { value, done } = await entries.next();
      if (done === true) return value;
      if (value.type !== 'file' || value.size > LARGEST) continue;
      read += value.size;
      if (read > MOST_READ || performance.now() > ends) return true;
      signal.throwIfAborted();
      for (const match of matchesIn(await textOf(workspace, value.path), sought)) {
        if (count === most) return true;
        count += 1;
        yield { path: value.path, ...match };
      }
      await slices.pause();
    }
  } finally {
    // Closes the folders of a search that ended early.
    await entries.return(true);
  }
}

/** Undefined for a file that is not text, or that is gone or unreadable by now. */
async function textOf(workspace: Workspace, path: string): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  try {
    const file = await openFile(workspace, path);
    // It may have grown since it was listed.
    for await (const piece of readPieces(file, 0, Math.min(file.size, LARGEST))) {
      if (piece.includes(0)) return undefined;
      pieces.push(piece);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(pieces).toString('utf8');
}

function* matchesIn(content: string | undefined, sought: string): Generator<Omit<TextMatch, 'path'>> {
  if (content === undefined || !content.toLowerCase().includes(sought)) return;
  let number = 0;
  for (const line of content.split('\n')) {
    number += 1;
    const at = line.toLowerCase().indexOf(sought);
    if (at === -1) continue;
    const from = at + sought.length <= MOST_MATCH_TEXT ? 0 : at - BEFORE;
    yield { line: number, text: line.slice(from, from + MOST_MATCH_TEXT) };
  }
}
