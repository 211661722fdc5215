/** `filesystem.Filesystem` of E2B's data plane. */
import { posix } from 'node:path';
import { z } from 'zod';
import { type ErrorCode, PortholeError } from '#base/errors.ts';
import {
  deleteWorkspaceFile,
  type GuestProvider,
  makeWorkspaceFolder,
  moveWorkspaceFile,
  startHeldWatch,
  stopHeldWatch,
  takeHeldChanges,
  watchWorkspace,
} from '#core/files/guest-files.ts';
import {
  type FileEntry,
  fileEntryOf,
  listWorkspaceFiles,
  statWorkspaceFile,
} from '#core/files/list-workspace-files.ts';
import type { HeldChange, WatchEvent } from '#protocol/guest/files-protocol.ts';
import { readFields } from '../http/read-input.ts';
import type { Services } from '../services.ts';
import type { EnvdCall } from './process-service.ts';
import { reachFiles, type ReachedFiles } from './reach-files.ts';

/** Protocol Buffers leave out what is empty. */
const Path = z.string().max(16_384).default('');
const OnePath = z.strictObject({ path: Path });
const List = OnePath.extend({ depth: z.int().min(0).max(16).default(1) });
const Move = z.strictObject({ source: Path, destination: Path });
const Watch = OnePath.extend({
  recursive: z.boolean().default(false),
  includeEntry: z.boolean().default(false),
  /** Mounted buckets report no changes of other clients, wherever they are. */
  allowNetworkMounts: z.boolean().optional(),
});
/** The watch in the guest, whether clients want entries, and the folder. */
const WATCHER_ID = /^([^:]{1,64}):([01]):(.*)$/s;
const Watcher = z.strictObject({
  watcherId: z.string().max(20_000).regex(WATCHER_ID, 'is no id that CreateWatcher returns'),
});

const MAX_ENTRIES = 10_000;

const TYPES = {
  file: 'FILE_TYPE_FILE',
  directory: 'FILE_TYPE_DIRECTORY',
  symlink: 'FILE_TYPE_SYMLINK',
  other: 'FILE_TYPE_UNSPECIFIED',
} as const;
const LETTERS = { file: '-', directory: 'd', symlink: 'L', other: '?' } as const;

/** As `ls -l` shows a mode. */
function permissionsOf({ type, mode }: Pick<FileEntry, 'type' | 'mode'>): string {
  const bits = 'rwxrwxrwx'.split('').map((letter, at) => ((mode >> (8 - at)) & 1 ? letter : '-'));
  return `${LETTERS[type]}${bits.join('')}`;
}

/** Names of the user and the group of all files. */
const USER = 'user';
/** What a folder takes, at least. */
const BLOCK_BYTES = 4_096;

function toEntryInfo(entry: FileEntry, shown: (path: string) => string) {
  const path = shown(entry.path);
  return {
    name: posix.basename(path),
    type: TYPES[entry.type],
    path,
    // A 64-bit number in JSON of Protocol Buffers.
    size: String(entry.size ?? (entry.type === 'directory' ? BLOCK_BYTES : 0)),
    mode: entry.mode,
    permissions: permissionsOf(entry),
    owner: USER,
    group: USER,
    ...(entry.mtime !== null && { modifiedTime: entry.mtime.toISOString() }),
    ...(entry.metadata !== undefined && { metadata: entry.metadata }),
    ...(entry.target !== undefined && { symlinkTarget: posix.resolve(posix.dirname(path), entry.target) }),
  };
}

async function infoOf({ sandboxes, shown }: ReachedFiles, { sandboxId, signal }: EnvdCall, path: string) {
  return toEntryInfo(await statWorkspaceFile({ sandboxes }, sandboxId, path, signal, true), shown);
}

/** Of a symbolic link, E2B has the type of its target. */
async function followedInfo(services: Services, call: EnvdCall, reached: ReachedFiles) {
  const info = await infoOf(reached, call, reached.path);
  if (info.symlinkTarget === undefined) return info;
  const target = await targetInfo(services, call, info.symlinkTarget).catch(ifUnreachable);
  return { ...info, type: target?.type ?? info.type };
}

async function targetInfo(services: Services, call: EnvdCall, path: string) {
  const reached = reachFiles(services, call, path);
  return infoOf(reached, call, reached.path);
}

function ifUnreachable(error: unknown): undefined {
  const codes: readonly ErrorCode[] = ['workspace_read_not_found', 'path_outside_workspace', 'forbidden'];
  if (error instanceof PortholeError && codes.includes(error.code)) return undefined;
  throw error;
}

export const FILESYSTEM_CALLS = {
  async ListDir(services: Services, call: EnvdCall, message: unknown) {
    const { path: asked, depth } = readFields(List, message, 'body');
    const { path, shown, sandboxes } = reachFiles(services, call, asked);
    const options = { depth: Math.max(depth, 1), most: MAX_ENTRIES, hasMetadata: true };
    const { entries, isCut } = await listWorkspaceFiles(
      { sandboxes },
      call.sandboxId,
      path,
      options,
      call.signal,
    );
    if (isCut) {
      throw new PortholeError('payload_too_large', `${shown(path)} has more than ${MAX_ENTRIES} entries`, {
        remedy: 'list its subfolders, or use a smaller depth.',
      });
    }
    return { entries: entries.map((each) => toEntryInfo(each, shown)) };
  },

  async Stat(services: Services, call: EnvdCall, message: unknown) {
    const reached = reachFiles(services, call, readFields(OnePath, message, 'body').path);
    return { entry: await followedInfo(services, call, reached) };
  },

  async MakeDir(services: Services, call: EnvdCall, message: unknown) {
    const reached = reachFiles(services, call, readFields(OnePath, message, 'body').path);
    const { path, sandboxes, shown, publish } = reached;
    const { sandboxId, signal } = call;
    const known = await statWorkspaceFile({ sandboxes }, sandboxId, path, signal).catch(ifMissing);
    if (known !== undefined) throw new PortholeError('file_exists', `${shown(path)} exists`);
    await makeWorkspaceFolder(sandboxes, sandboxId, path, signal);
    publish('file_written', path);
    return { entry: await infoOf(reached, call, path) };
  },

  async Move(services: Services, call: EnvdCall, message: unknown) {
    const { source, destination } = readFields(Move, message, 'body');
    const from = reachFiles(services, call, source);
    const to = reachFiles(services, call, destination);
    if (from.isTemporary !== to.isTemporary) {
      throw new PortholeError('invalid_request', `${source} and ${destination} are on different disks`, {
        remedy: 'move it with a command: mv.',
      });
    }
    const move = { from: from.path, to: to.path, overwrite: true };
    await moveWorkspaceFile(to.sandboxes, call.sandboxId, move, call.signal);
    from.publish('file_deleted', from.path);
    to.publish('file_written', to.path);
    return { entry: await infoOf(to, call, to.path) };
  },

  async Remove(services: Services, call: EnvdCall, message: unknown) {
    const { path, sandboxes, publish } = reachFiles(
      services,
      call,
      readFields(OnePath, message, 'body').path,
    );
    const { sandboxId, signal } = call;
    // As `rm -rf`: without an error if it does not exist.
    const known = await statWorkspaceFile({ sandboxes }, sandboxId, path, signal).catch(ifMissing);
    if (known === undefined) return {};
    await deleteWorkspaceFile(sandboxes, sandboxId, path, true, signal);
    publish('file_deleted', path);
    return {};
  },

  async CreateWatcher(services: Services, call: EnvdCall, message: unknown) {
    const { path: asked, recursive, includeEntry } = readFields(Watch, message, 'body');
    const { path, sandboxes } = reachFiles(services, call, asked);
    const id = await startHeldWatch(sandboxes, call.sandboxId, { path, recursive }, call.signal);
    return { watcherId: `${id}:${includeEntry ? 1 : 0}:${asked}` };
  },

  async GetWatcherEvents(services: Services, call: EnvdCall, message: unknown) {
    const { id, includeEntry, reached } = readWatcher(services, call, message);
    const { folder, events } = await takeHeldChanges(reached.sandboxes, call.sandboxId, id, call.signal);
    const shown = includeEntry ? reached.shown : undefined;
    return { events: events.flatMap((event) => [...toEvents(event, folder, event.is_new, shown)]) };
  },

  async RemoveWatcher(services: Services, call: EnvdCall, message: unknown) {
    const { id, reached } = readWatcher(services, call, message);
    await stopHeldWatch(reached.sandboxes, call.sandboxId, id, call.signal);
    return {};
  },
} as const;

/** The id has all that a call needs, so any process may answer it. */
function readWatcher(services: Services, call: EnvdCall, message: unknown) {
  const { watcherId } = readFields(Watcher, message, 'body');
  const [, id = '', entry, path = ''] = WATCHER_ID.exec(watcherId) ?? [];
  return { id, includeEntry: entry === '1', reached: reachFiles(services, call, path) };
}

function ifMissing(error: unknown): undefined {
  if (error instanceof PortholeError && error.code === 'workspace_read_not_found') return undefined;
  throw error;
}

export const FILESYSTEM_STREAMS = {
  async WatchDir(services: Services, call: EnvdCall, message: unknown) {
    const { path: asked, recursive, includeEntry } = readFields(Watch, message, 'body');
    const { path, sandboxes, shown } = reachFiles(services, call, asked);
    const over = call.signal ?? new AbortController().signal;
    const changes = watchWorkspace(sandboxes, call.sandboxId, { folder: path, recursive }, over);
    // A folder that does not exist is the answer, not the end of a stream.
    const first = await changes.next();
    const known = await namesIn({ sandboxes }, call, path, recursive);
    async function* events(): AsyncGenerator<object, void, undefined> {
      yield { start: {} };
      for (let next = first; next.done !== true; next = await changes.next()) {
        const change = next.value;
        if (change === undefined) yield { keepalive: {} };
        else {
          const isNew = change.type === 'changed' && !known.has(change.path);
          if (change.type === 'changed') known.add(change.path);
          if (change.type === 'deleted') known.delete(change.path);
          yield* toWatched(toEvents(change, path, isNew, includeEntry ? shown : undefined));
        }
      }
    }
    return events();
  },
} as const;

const MAX_DEPTH = 16;

/** Paths below a folder: a change of another one is its creation. */
async function namesIn(
  guests: { readonly sandboxes: GuestProvider },
  { sandboxId, signal }: EnvdCall,
  folder: string,
  recursive: boolean,
): Promise<Set<string>> {
  const options = { depth: recursive ? MAX_DEPTH : 1, most: MAX_ENTRIES };
  const { entries } = await listWorkspaceFiles(guests, sandboxId, folder, options, signal);
  return new Set(entries.map(({ path }) => path));
}

function* toWatched(events: Iterable<object>): Generator<object> {
  for (const filesystem of events) yield { filesystem };
}

/**
 * E2B reports a file that is new as created, given to its user, and written: clients count that.
 * @param shown of a client that wants the entry
 */
function* toEvents(
  { type, path, stat }: WatchEvent | HeldChange,
  folder: string,
  isNew: boolean,
  shown: ((path: string) => string) | undefined,
): Generator<object> {
  const name = posix.relative(folder, path);
  if (name === '') return;
  if (type === 'deleted') yield { name, type: 'EVENT_TYPE_REMOVE' };
  if (type !== 'changed') return;
  const entry = shown !== undefined && stat !== undefined && { entry: toEntryInfo(fileEntryOf(stat), shown) };
  const is = (event: string) => ({ name, type: `EVENT_TYPE_${event}`, ...entry });
  if (isNew) {
    yield is('CREATE');
    if (stat?.type !== 'file') return;
    yield is('CHMOD');
  }
  yield is('WRITE');
}
