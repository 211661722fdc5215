import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { dirname } from 'node:path/posix';
import { readPlain } from '../plain-file.ts';
import { at } from './at-calls.ts';
import { errno, FOLDER, quietly, READ, Yielder } from './descriptors.ts';
import { failure } from './failures.ts';
import { Stage } from './stage.ts';
import { fillFromTar } from './unpack.ts';
import type { Workspace } from './workspace.ts';
import { partialName } from './write-file.ts';

/** Below /workspace. */
const FOLDER_NAME = 'skills';
/** List of the placed files in that folder: a line `sha256  path` for each. */
const LIST = '.porthole';
const LINE = /^([0-9a-f]{64}) {2}([a-z0-9-]+\/.+)$/;
/** Largest list in bytes: the sandbox may have replaced it. */
const MAX_LIST = 64 * 1024 * 1024;

/** Digest of each file, by its path below `skills`. */
type Digests = ReadonlyMap<string, string>;

/**
 * Writes the skills of an archive below the workspace, and returns the files that differ because
 * the user has changed them. A list records the placed files: a file that still matches the list
 * may be replaced, and is removed once its skill no longer has it. All other files are the user's.
 * The list contains the old and the new files before any change, so that files of a killed guest
 * are never taken for the user's. Never writes through a link.
 * @param content a tar of regular files, `{skill}/{path}`
 * @throws PortholeError `invalid_request`, `workspace_archive_write_error`, or the error of
 * `content`
 */
export async function placeSkills(
  workspace: Workspace,
  content: AsyncIterable<Buffer>,
): Promise<readonly string[]> {
  const root = await workspace.open();
  let stage: Stage | undefined;
  let folder: number | undefined;
  try {
    stage = new Stage(root);
    await fillFromTar(stage, content, 'all');
    stage.endFile();
    stage.forgetFolders();
    const wanted = await digestsBelow(stage.directory);
    await quietly(() => fs.mkdirSync(at(root, FOLDER_NAME), 0o755));
    folder = openFolder(root, FOLDER_NAME);
    if (folder === undefined) return [...wanted.keys()];
    return await placeFrom(stage.directory, folder, wanted);
  } catch (error) {
    throw errno(error) === '' ? error : failure(error, `/workspace/${FOLDER_NAME}`, 'write');
  } finally {
    if (folder !== undefined) fs.closeSync(folder);
    await stage?.close();
    fs.closeSync(root);
  }
}

/** Moves the files of a stage into the folder; returns those that differ there. */
async function placeFrom(stage: number, folder: number, wanted: Digests): Promise<readonly string[]> {
  const yielder = new Yielder();
  const skills = new Set([...wanted.keys()].map(skillOf));
  const old = readList(folder);
  writeList(stage, folder, [...old, ...linesOf(wanted)]);
  // A skill without existing files is moved as a whole.
  for (const skill of skills) {
    if (!isThere(at(folder, skill))) renameUnlessThere(stage, folder, skill);
  }
  const ofThese = old.filter((line) => skills.has(skillOf(pathOf(line))));
  const gone = new Set(ofThese.map(pathOf).filter((path) => !wanted.has(path)));
  const found = await digestsOf(folder, [...wanted.keys(), ...gone], yielder);
  const known = new Set(old);
  for (const [path, digest] of found) {
    await yielder.pause();
    const isOurs = known.has(lineOf(path, digest));
    if (!isOurs || wanted.get(path) === digest) continue;
    if (gone.has(path)) remove(folder, path);
    else move(stage, folder, path);
  }
  for (const path of wanted.keys()) {
    await yielder.pause();
    if (!found.has(path)) move(stage, folder, path, true);
  }
  const now = await digestsOf(folder, wanted.keys(), yielder);
  const placed = new Map([...wanted].filter(([path, digest]) => now.get(path) === digest));
  const others = old.filter((line) => !skills.has(skillOf(pathOf(line))));
  writeList(stage, folder, [...others, ...linesOf(placed)]);
  return [...wanted.keys()].filter((path) => !placed.has(path));
}

/** Of those of the files that exist. */
async function digestsOf(folder: number, paths: Iterable<string>, yielder: Yielder): Promise<Digests> {
  const digests = new Map<string, string>();
  for (const path of paths) {
    await yielder.pause();
    const digest = within(folder, path, (above, name) => digestOf(at(above, name)));
    if (digest !== undefined) digests.set(path, digest);
  }
  return digests;
}

/** Moves a file out of the stage, unless it was moved with its whole skill. */
function move(stage: number, folder: number, path: string, isNew = false): void {
  within(stage, path, (from, name) => {
    if (fs.lstatSync(at(from, name), { throwIfNoEntry: false })?.isFile() !== true) return;
    const place = (into: number, as: string): void => {
      if (!isNew || !isThere(at(into, as))) fs.renameSync(at(from, name), at(into, as));
    };
    within(folder, path, place, isNew);
  });
}

/** Also removes parent folders that become empty. */
function remove(top: number, path: string): void {
  within(top, path, (above, name) => fs.unlinkSync(at(above, name)));
  try {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
      within(top, folder, (above, name) => fs.rmdirSync(at(above, name)));
    }
  } catch {
    // It is not empty.
  }
}

function writeList(stage: number, folder: number, lines: readonly string[]): void {
  const fresh = at(stage, partialName());
  const sorted = [...new Set(lines)].toSorted();
  const options = { encoding: 'latin1', mode: 0o644, flag: 'wx' } as const;
  fs.writeFileSync(fresh, sorted.map((line) => `${line}\n`).join(''), options);
  fs.renameSync(fresh, at(folder, LIST));
}

function readList(folder: number): string[] {
  try {
    return readPlain(at(folder, LIST), MAX_LIST).toString('latin1').split('\n').filter(isLine);
  } catch (error) {
    // Missing, or replaced by a link, by a socket, or by what is no small file.
    if (['ENOENT', 'ELOOP', 'ENXIO', ''].includes(errno(error))) return [];
    throw error;
  }
}

function isLine(line: string): boolean {
  const path = LINE.exec(line)?.[2];
  return path !== undefined && !path.split('/').some((part) => ['', '.', '..'].includes(part));
}

const lineOf = (path: string, digest: string): string => `${digest}  ${path}`;
const linesOf = (digests: Digests): string[] => [...digests].map(([path, digest]) => lineOf(path, digest));
const pathOf = (line: string): string => line.slice(66);
const skillOf = (path: string): string => path.slice(0, path.indexOf('/'));

/** Every file below the skills folder, sorted. Bytes as Latin-1. */
async function digestsBelow(top: number): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  const yielder = new Yielder();
  const options = { recursive: true, withFileTypes: true, encoding: 'latin1' } as const;
  const above = `/proc/self/fd/${top}/`;
  for (const entry of fs.readdirSync(above, options)) {
    await yielder.pause();
    if (!entry.isFile()) continue;
    const path = `${entry.parentPath}/${entry.name}`.replace(/\/+/g, '/').slice(above.length);
    digests.set(path, digestOf(at(top, path)) as string);
  }
  return new Map([...digests].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Undefined if it is not a readable file. */
function digestOf(path: string | Buffer): string | undefined {
  let file: number;
  try {
    file = fs.openSync(path, READ);
  } catch {
    return undefined;
  }
  try {
    if (!fs.fstatSync(file).isFile()) return undefined;
    return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
  } finally {
    fs.closeSync(file);
  }
}

/** Moves a folder, unless another process has created it: then its files are moved one by one. */
function renameUnlessThere(from: number, into: number, name: string): void {
  try {
    fs.renameSync(at(from, name), at(into, name));
  } catch (error) {
    if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errno(error))) throw error;
  }
}

function isThere(path: string | Buffer): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Undefined if it is missing, a link, or not a folder. */
function openFolder(above: number, name: string): number | undefined {
  try {
    return fs.openSync(at(above, name), FOLDER);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(errno(error))) return undefined;
    throw error;
  }
}

/**
 * Calls with the open parent folder of a path, and its name there. Undefined if a parent is a link,
 * not a folder, or missing and not to be created.
 */
function within<T>(
  top: number,
  path: string,
  call: (above: number, name: string) => T,
  makesFolders = false,
): T | undefined {
  const parts = path.split('/');
  const name = parts.pop() as string;
  const opened: number[] = [];
  let above = top;
  try {
    for (const part of parts) {
      if (makesFolders && !isThere(at(above, part))) fs.mkdirSync(at(above, part), 0o755);
      const next = openFolder(above, part);
      if (next === undefined) return undefined;
      opened.push(next);
      above = next;
    }
    return call(above, name);
  } finally {
    for (const descriptor of opened) fs.closeSync(descriptor);
  }
}
