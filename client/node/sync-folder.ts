import { open, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TAR_END, tar, type TarEntry, tarSize } from '../archive/tar-writer.ts';
import type { Sandbox } from '../resources/sandbox.ts';
import { toStream } from '../streams/byte-streams.ts';
import type { SyncOptions, SyncResult } from '../sync/sync-options.ts';
import { type Entries, planSync, type SyncEntry, type SyncPlan } from '../sync/sync-plan.ts';
import { IgnoreRules } from './ignore-rules.ts';
import { readFolder } from './read-folder.ts';
import { NOTHING_SENT, SyncMemory, type SyncPlace } from './sync-memory.ts';

/** The API's limit of an archive, in bytes. */
const MAX_ARCHIVE = 33_554_432;
/** Bytes of a slice: an archive also has headers. */
const SLICE = 33_000_000;
/** Length of the names in one command, in bytes: well below Linux's limit. */
const MAX_NAMES = 65_536;

/** Joins the slices of a file that is too large for one archive. */
const JOIN = `name=$1 count=$2 mode=$3 mtime=$4; at=0
cd /workspace || exit
while [ "$at" -lt "$count" ]; do cat -- "./$name.porthole-slice-$at" || exit; at=$((at + 1)); done \
  > "./$name.porthole-joined" || exit
chmod "$mode" "./$name.porthole-joined" && touch -d "@$mtime" "./$name.porthole-joined" || exit
mv -f -- "./$name.porthole-joined" "./$name" || exit
at=0
while [ "$at" -lt "$count" ]; do rm -f -- "./$name.porthole-slice-$at"; at=$((at + 1)); done`;

/** Removes the first `count` names, then those of the remaining folders that are empty. */
const REMOVE = `count=$1; shift
cd /workspace || exit
while [ "$count" -gt 0 ] && [ $# -gt 0 ]; do
  [ -d "./$1" ] && [ ! -L "./$1" ] || rm -f -- "./$1" || exit
  shift; count=$((count - 1))
done
for folder; do rmdir -- "./$folder" 2>/dev/null; done
exit 0`;

/**
 * Syncs a folder into a sandbox: everything the first time, then only changes, as one archive. One
 * command removes deleted files at the same time. Files are sent with their current content;
 * changes made in the sandbox are not detected.
 * @throws PortholeError
 */
export async function syncFolder(
  sandbox: Sandbox,
  folder: string,
  options: SyncOptions = {},
): Promise<SyncResult> {
  const { memory = new SyncMemory(), signal } = options;
  const root = await realpath(folder).catch(() => undefined);
  if (root === undefined || !(await stat(root)).isDirectory()) {
    throw new TypeError(`${folder} is no folder: give one to sync.`);
  }
  const place = await syncPlace(sandbox, root, options.to, signal);
  const { path: below } = place;
  const before = await memory.recall(place);
  const rules = await IgnoreRules.read(root, options.excludes);
  const readAt = Date.now();
  const { entries, skipped, read } = await readFolder(root, rules, before);
  const sentBefore = options.full === true ? NOTHING_SENT.entries : before.entries;
  const plan = { ...planSync(before.entries, entries), send: planSync(sentBefore, entries).send };
  const { parts, joins } = partsOf(root, below, plan, entries);
  const remove = options.delete === false ? [] : removals(below, plan);

  const isIdle = parts.length + remove.length === 0;
  if (!isIdle)
    await memory.remember(place, { ...before, entries: inDoubt(before.entries, entries, plan.send) });
  const removing = async () => {
    for (const argv of remove) await sandbox.exec(argv, { signal }).text();
  };
  const sending = async () => {
    for (const part of parts) await send(sandbox, part, signal);
    for (const join of joins) await sandbox.exec(['sh', '-c', JOIN, 'sh', ...join], { signal }).text();
  };
  if (plan.removeFirst) {
    await removing();
    await sending();
  } else await Promise.all([removing(), sending()]);
  const kept = options.delete === false ? stillThere(before.entries, entries) : entries;
  if (!isIdle || read > 0 || before.readAt === 0) await memory.remember(place, { entries: kept, readAt });

  const isContent = (path: string) => entries.get(path)?.type !== 'directory';
  const sent = plan.send.filter(isContent).length;
  return {
    sent,
    removed: remove.length === 0 ? 0 : plan.remove.length + plan.removeFolders.length,
    unchanged: [...entries.keys()].filter(isContent).length - sent,
    folders: [...entries.keys()].filter((path) => !isContent(path)),
    bytes: parts.reduce((sum, part) => sum + part.reduce((all, entry) => all + tarSize(entry), TAR_END), 0),
    skipped,
  };
}

/** Where a sync of a folder is recorded. @throws TypeError */
export async function syncPlace(
  sandbox: Sandbox,
  root: string,
  to: SyncOptions['to'],
  signal: AbortSignal | undefined,
): Promise<SyncPlace> {
  const path = placeBelow(to ?? '/workspace');
  const { created_at: createdAt } = sandbox.info ?? (await sandbox.refresh({ signal }));
  return { dataplaneUrl: sandbox.dataplaneUrl, createdAt, folder: root, path };
}

/** An error while building the archive has more detail than the aborted request. */
async function send(
  sandbox: Sandbox,
  part: readonly TarEntry[],
  signal: AbortSignal | undefined,
): Promise<void> {
  let failure: unknown;
  const archive = async function* () {
    try {
      yield* tar(part);
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  await sandbox.files.hydrate(toStream(archive()), { signal }).catch((error: unknown) => {
    throw failure ?? error;
  });
}

/** Relative to /workspace; '' for /workspace. */
function placeBelow(to: string): string {
  const absolute = to.startsWith('/') ? to : `/workspace/${to}`;
  const parts = absolute.split('/').filter((part) => part !== '' && part !== '.');
  if (parts[0] !== 'workspace' || parts.includes('..')) {
    throw new TypeError(`to must be /workspace or below it, got ${JSON.stringify(to.slice(0, 200))}.`);
  }
  return parts.slice(1).join('/');
}

/** Archives within the API's limit, one after the other, and the arguments of each `JOIN`. */
function partsOf(
  root: string,
  below: string,
  { send }: SyncPlan,
  entries: Entries,
): { readonly parts: readonly TarEntry[][]; readonly joins: readonly string[][] } {
  const parts: TarEntry[][] = [];
  const joins: string[][] = [];
  let room = 0;
  for (const path of send) {
    const entry = tarEntry(root, below, path, entries.get(path) as SyncEntry);
    const size = tarSize(entry);
    if (size > MAX_ARCHIVE - TAR_END && entry.type === 'file') {
      const slices = slicesOf(join(root, path), entry);
      parts.unshift(...slices.map((slice) => [slice]));
      joins.push([entry.name, String(slices.length), (entry.mode ?? 0o644).toString(8), String(entry.mtime)]);
      continue;
    }
    if (size > room) {
      parts.push([]);
      room = MAX_ARCHIVE - TAR_END;
    }
    parts.at(-1)?.push(entry);
    room -= size;
  }
  return { parts, joins };
}

function slicesOf(file: string, { name, size, mtime }: TarEntry & { readonly type: 'file' }): TarEntry[] {
  return Array.from({ length: Math.ceil(size / SLICE) }, (_, at) => {
    const from = at * SLICE;
    const length = Math.min(SLICE, size - from);
    const content = contentOf(file, length, from);
    return { type: 'file', name: `${name}.porthole-slice-${at}`, size: length, mode: 0o600, mtime, content };
  });
}

function tarEntry(root: string, below: string, path: string, entry: SyncEntry): TarEntry {
  const name = below === '' ? path : `${below}/${path}`;
  if (entry.type === 'directory') return { type: 'directory', name, mtime: entry.mtime / 1_000 };
  if (entry.type === 'symlink') return { type: 'symlink', name, target: entry.target };
  const { size, mode, mtime } = entry;
  return { type: 'file', name, size, mode, mtime: mtime / 1_000, content: contentOf(join(root, path), size) };
}

/** `size` bytes of a file: bytes appended meanwhile are sent by the next sync. */
async function* contentOf(file: string, size: number, from = 0): AsyncGenerator<Uint8Array, void> {
  if (size === 0) return;
  const handle = await open(file, 'r');
  try {
    let left = size;
    while (left > 0) {
      const { bytesRead, buffer } = await handle.read({
        buffer: Buffer.allocUnsafe(Math.min(left, 65_536)),
        position: from + size - left,
      });
      if (bytesRead === 0) return;
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** Commands that remove deleted files, as few as possible. */
function removals(below: string, { remove, removeFolders }: SyncPlan): string[][] {
  const named = (path: string) => (below === '' ? path : `${below}/${path}`);
  const commands: string[][] = [];
  let files: string[] = [];
  let folders: string[] = [];
  let length = 0;
  const flush = (): void => {
    if (length > 0) commands.push(['sh', '-c', REMOVE, 'sh', String(files.length), ...files, ...folders]);
    [files, folders, length] = [[], [], 0];
  };
  for (const [list, path] of [
    ...remove.map((each) => ['files', named(each)] as const),
    ...removeFolders.map((each) => ['folders', named(each)] as const),
  ]) {
    if (length + path.length * 3 > MAX_NAMES) flush();
    (list === 'files' ? files : folders).push(path);
    // A UTF-16 code unit takes at most three bytes.
    length += path.length * 3;
  }
  flush();
  return commands;
}

/**
 * Entries that may exist during the transfer: after an interruption they are sent again or, if
 * deleted here, removed. A folder counts once it has arrived: files create their folders.
 */
function inDoubt(before: Entries, now: Entries, send: readonly string[]): Entries {
  const doubtful = new Map(before);
  for (const path of send) {
    const entry = now.get(path) as SyncEntry;
    if (entry.type === 'file') doubtful.set(path, { ...entry, digest: '' });
    else if (entry.type === 'symlink') doubtful.set(path, { ...entry, target: '' });
  }
  return doubtful;
}

/** Files that were sent and not removed stay recorded, so that a later sync can remove them. */
function stillThere(before: Entries, now: Entries): Entries {
  return new Map([...before, ...now]);
}
