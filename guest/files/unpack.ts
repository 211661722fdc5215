import { closeSync } from 'node:fs';
import { posix } from 'node:path';
import type { PortholeError } from '../../base/errors.ts';
import { readFrames } from '../../base/frames.ts';
import { freeBuffer } from '../../base/free-buffer.ts';
import type { Remembered } from '../../base/tar/archive-tree.ts';
import type { TarHeader } from '../../base/tar/tar-header.ts';
import { TarValidator } from '../../base/tar/validate-tar.ts';
import {
  type FileMetadata,
  MAX_UPLOAD_FRAME,
  MAX_UPLOAD_PATH,
  UPLOAD,
  type Unpacked,
} from '../../protocol/guest/files-protocol.ts';
import { removeAll } from './change-files.ts';
import { errno, Yielder } from './descriptors.ts';
import { failure, invalid, systemFailure } from './failures.ts';
import { placeFiles, replacesFolder } from './place-files.ts';
import { EXACT_MODE, Stage } from './stage.ts';
import type { Workspace } from './workspace.ts';

/** Limits of the reported links: their number, and the bytes of their names. */
const MAX_LINKS = 1_000;
const MAX_LINK_BYTES = 262_144;

/**
 * Creates a stage, calls `fill` on it, moves its content to the workspace, and always removes the
 * stage.
 */
async function staged(
  workspace: Workspace,
  replacesFiles: boolean,
  fill: (stage: Stage) => Promise<void>,
  keptMode?: number,
  metadata?: FileMetadata,
): Promise<void> {
  const directory = await workspace.open();
  let stage: Stage | undefined;
  try {
    stage = new Stage(directory, keptMode, metadata);
    await fill(stage);
    stage.endFile();
    await placeFiles(workspace, stage, replacesFiles);
  } catch (error) {
    throw errno(error) === '' ? error : failure(error, '/workspace', 'write');
  } finally {
    await stage?.close();
    closeSync(directory);
  }
}

/**
 * Unpacks a plain tar over the workspace, all or nothing: replaces existing files, keeps others.
 * Validates each entry before it is created.
 * @param content its pieces are freed
 * @throws PortholeError `invalid_request` for a refused entry, `path_outside_workspace` if it would
 * leave the workspace through a link, `workspace_archive_write_error`, or the error of `content`
 */
export async function unpackTar(
  workspace: Workspace,
  content: AsyncIterable<Buffer>,
  remembers: Remembered,
): Promise<Unpacked> {
  const outside: Unpacked['outside_links'] = { total: 0, links: [] };
  let bytes = 0;
  const see = (entry: TarHeader) => {
    if (entry.type !== 'symlink' || !leavesWorkspace(entry)) return;
    outside.total += 1;
    bytes += entry.name.length + entry.linkName.length;
    if (outside.links.length === MAX_LINKS || bytes > MAX_LINK_BYTES) return;
    const [path = '', target = ''] = [posix.join('/workspace', entry.name), entry.linkName].map((name) =>
      Buffer.from(name, 'latin1').toString('utf8'),
    );
    outside.links.push({ path, target });
  };
  await staged(workspace, true, (stage) => fillFromTar(stage, content, remembers, see));
  return { outside_links: outside };
}

/**
 * Likewise with exact modes, after it has removed entries: a file may take the place of a folder.
 * Removes nothing if the tar is refused, cut off or does not fit the disk.
 * @param content paths as in `protocol/guest/tree-protocol`, then the tar
 * @param removes bytes of the paths
 */
export async function treeIn(
  workspace: Workspace,
  content: AsyncIterable<Buffer>,
  removes: number,
): Promise<void> {
  const { first, rest } = await takeFirst(content, removes);
  const fill = async (stage: Stage) => {
    await fillFromTar(stage, rest, 'all');
    stage.endFile();
    await removeAll(workspace, first.toString().split('\0').slice(0, -1));
  };
  await staged(workspace, true, fill, EXACT_MODE);
}

/**
 * Takes the first bytes of a stream, in memory of their own; fewer if it ends. What follows can be
 * read from `rest`, once.
 */
async function takeFirst(
  source: AsyncIterable<Buffer>,
  bytes: number,
): Promise<{ readonly first: Buffer; readonly rest: AsyncIterable<Buffer> }> {
  const pieces = source[Symbol.asyncIterator]();
  const taken: Buffer[] = [];
  let missing = bytes;
  let left: Buffer = Buffer.alloc(0);
  while (missing > 0) {
    const { value, done } = await pieces.next();
    if (done === true) break;
    taken.push(Buffer.from(value.subarray(0, missing)));
    left = value.subarray(missing);
    missing -= value.length - left.length;
  }
  async function* rest() {
    if (left.length > 0) yield left;
    yield* { [Symbol.asyncIterator]: () => pieces };
  }
  return { first: Buffer.concat(taken), rest: rest() };
}

/**
 * Creates the entries of a tar in a stage, each validated first. @throws PortholeError
 * `invalid_request`, `workspace_archive_write_error`, or the error of `content`
 */
export async function fillFromTar(
  stage: Stage,
  content: AsyncIterable<Buffer>,
  remembers: Remembered,
  see?: (entry: TarHeader) => void,
): Promise<void> {
  const yielder = new Yielder();
  const validator = new TarValidator({
    remembers,
    visitor: {
      entry(entry) {
        see?.(entry);
        makeEntry(stage, entry);
      },
      contents: (piece) => stage.write(piece),
      padding: () => undefined,
    },
  });
  let isEmpty = true;
  for await (const chunk of content) {
    isEmpty &&= chunk.length === 0;
    try {
      validator.push(chunk);
    } catch (error) {
      throw systemFailure(error, 'workspace_archive_write_error', 'tar extract failed');
    }
    freeBuffer(chunk);
    await yielder.pause();
  }
  if (isEmpty) throw invalid('Empty tar payload');
  validator.end();
}

function makeEntry(stage: Stage, { name, linkName, type, mode, mtime }: TarHeader): void {
  stage.endFile();
  const path = plain(name);
  if (type === 'file') stage.file(path, mode, mtime);
  else if (type === 'directory') stage.folder(path, { mode, mtime });
  else if (type === 'symlink') stage.symlink(path, linkName, mtime);
  else if (type === 'hardlink') stage.hardLink(path, plain(linkName));
  else if (type === 'fifo') stage.fifo(path, mode);
}

/** Without `.` and empty parts; `..` is refused earlier. */
function plain(name: string): string {
  return name
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}

/**
 * Writes many files into a folder, all or none, from frames (`UPLOAD`). Creates missing folders.
 * @param folder below the workspace, bytes as Latin-1
 * @throws PortholeError `path_outside_workspace`, `invalid_request`,
 * `workspace_archive_write_error`, or the error of `content`
 */
export async function uploadFiles(
  workspace: Workspace,
  folder: string,
  content: AsyncIterable<Buffer>,
  metadata?: FileMetadata,
): Promise<void> {
  const fill = async (stage: Stage) => {
    const yielder = new Yielder();
    let isWhole = false;
    for await (const { type, payload, isFirst } of readFrames(content, UPLOAD_FRAMES)) {
      if (isWhole) throw malformed();
      if (type === UPLOAD.contents) stage.write(payload);
      else if (!isFirst) throw malformed();
      else if (type === UPLOAD.file) {
        const name = plain(`${folder}/${payload.toString('latin1')}`);
        if (name.split('/').includes('..') || name.includes('\0')) throw malformed();
        beginFile(stage, name);
      } else if (type === UPLOAD.end) isWhole = true;
      else throw malformed();
      await yielder.pause();
    }
    if (!isWhole) throw malformed();
  };
  await staged(workspace, false, fill, undefined, metadata);
}

/** A file may have the name of another file's folder. */
function beginFile(stage: Stage, name: string): void {
  try {
    stage.file(name, 0o644);
  } catch (error) {
    if (!['ENOTDIR', 'EISDIR', 'EPERM', 'ELOOP'].includes(errno(error))) throw error;
    throw replacesFolder();
  }
}

const UPLOAD_FRAMES = {
  contents: UPLOAD.contents,
  maxContents: MAX_UPLOAD_FRAME,
  maxWhole: MAX_UPLOAD_PATH,
  malformed,
} as const;

function malformed(): PortholeError {
  return invalid(
    'The frames of an upload are cut off or out of order: each file is its path, its contents, and the end follows all.',
  );
}

/** Programs and libraries of the image, which a virtual environment refers to. */
const PROGRAMS = /^\/(?:usr|bin|sbin|lib|lib64|opt)\//;

/**
 * Whether a symbolic link leads out of the workspace to what may not be there where it is unpacked:
 * programs of the image are. Its text tells where it leads only while each `..` comes before every
 * name; behind one, which may be a link itself, it leads to anywhere.
 */
function leavesWorkspace({ name, linkName }: Pick<TarHeader, 'name' | 'linkName'>): boolean {
  const resolved = posix.resolve('/workspace', posix.dirname(name), linkName);
  const parts = linkName.split('/').filter((part) => part !== '' && part !== '.');
  const isPlain = parts.lastIndexOf('..') < parts.findIndex((part) => part !== '..') >>> 0;
  const stays = resolved === '/workspace' || resolved.startsWith('/workspace/') || PROGRAMS.test(resolved);
  return !isPlain || !stays;
}
