/** `filesystem.Filesystem` of E2B's data plane. */
import { posix } from 'node:path';
import { z } from 'zod';
import { performerOf } from '#core/callers.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import { delegatedGuests } from '#core/delegations/delegate-sandbox.ts';
import {
  deleteWorkspaceFile,
  makeWorkspaceFolder,
  moveWorkspaceFile,
  watchWorkspace,
} from '#core/files/guest-files.ts';
import { type FileEntry, listWorkspaceFiles, statWorkspaceFile } from '#core/files/list-workspace-files.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import type { WatchEvent } from '#protocol/guest/files-protocol.ts';
import { PortholeError } from '#base/errors.ts';
import type { Services } from '../services.ts';
import { readE2bPath } from './home-path.ts';
import type { EnvdCall } from './process-service.ts';

const Path = z.string().max(16_384);
const OnePath = z.object({ path: Path });
const List = OnePath.extend({ depth: z.int().min(1).max(16).default(1) });
const Move = z.object({ source: Path, destination: Path });
const Watch = OnePath.extend({ recursive: z.boolean().default(false) });

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

function toEntryInfo(entry: FileEntry, shown: (path: string) => string) {
  return {
    name: entry.name,
    type: TYPES[entry.type],
    path: shown(entry.path),
    // A 64-bit number in JSON of Protocol Buffers.
    size: String(entry.size ?? 0),
    mode: entry.mode,
    permissions: permissionsOf(entry),
    owner: USER,
    group: USER,
    ...(entry.mtime !== null && { modifiedTime: entry.mtime.toISOString() }),
  };
}

/** The guest of the sandbox, and the path there. */
async function reach(services: Services, { caller, sandboxId }: EnvdCall, e2bPath: string) {
  const { path: asked, shown } = readE2bPath(e2bPath);
  const path = resolveWorkspacePath(asked, 'path');
  const sandboxes = delegatedGuests(services.sandboxes, caller, path);
  const { id } = await useSandbox(services, caller, sandboxId, { agents: true });
  return { path, shown, sandboxes, id };
}

export const FILESYSTEM_CALLS = {
  async ListDir(services: Services, call: EnvdCall, message: unknown) {
    const { path: asked, depth } = List.parse(message);
    const { path, shown, sandboxes, id } = await reach(services, call, asked);
    const options = { depth, most: MAX_ENTRIES };
    const { entries, isCut } = await listWorkspaceFiles({ sandboxes }, id, path, options, call.signal);
    if (isCut) {
      throw new PortholeError('payload_too_large', `${path} has more than ${MAX_ENTRIES} entries`, {
        remedy: 'list its subfolders, or use a smaller depth.',
      });
    }
    return { entries: entries.map((each) => toEntryInfo(each, shown)) };
  },

  async Stat(services: Services, call: EnvdCall, message: unknown) {
    const { path, shown, sandboxes, id } = await reach(services, call, OnePath.parse(message).path);
    return { entry: toEntryInfo(await statWorkspaceFile({ sandboxes }, id, path, call.signal), shown) };
  },

  async MakeDir(services: Services, call: EnvdCall, message: unknown) {
    const { path, shown, sandboxes, id } = await reach(services, call, OnePath.parse(message).path);
    const known = await statWorkspaceFile({ sandboxes }, id, path, call.signal).catch(ifMissing);
    if (known !== undefined) throw new PortholeError('file_exists', `${path} exists`);
    await makeWorkspaceFolder(sandboxes, id, path, call.signal);
    services.publisher.publish(id, 'file_written', { path, ...performerOf(call.caller) });
    return { entry: toEntryInfo(await statWorkspaceFile({ sandboxes }, id, path, call.signal), shown) };
  },

  async Move(services: Services, call: EnvdCall, message: unknown) {
    const { source, destination } = Move.parse(message);
    const { path: from } = await reach(services, call, source);
    const { path: to, shown, sandboxes, id } = await reach(services, call, destination);
    await moveWorkspaceFile(sandboxes, id, { from, to, overwrite: true }, call.signal);
    services.publisher.publish(id, 'file_deleted', { path: from, ...performerOf(call.caller) });
    services.publisher.publish(id, 'file_written', { path: to, ...performerOf(call.caller) });
    return { entry: toEntryInfo(await statWorkspaceFile({ sandboxes }, id, to, call.signal), shown) };
  },

  async Remove(services: Services, call: EnvdCall, message: unknown) {
    const { path, sandboxes, id } = await reach(services, call, OnePath.parse(message).path);
    await deleteWorkspaceFile(sandboxes, id, path, true, call.signal);
    services.publisher.publish(id, 'file_deleted', { path, ...performerOf(call.caller) });
    return {};
  },
} as const;

function ifMissing(error: unknown): undefined {
  if (error instanceof PortholeError && error.code === 'workspace_read_not_found') return undefined;
  throw error;
}

export const FILESYSTEM_STREAMS = {
  async WatchDir(services: Services, call: EnvdCall, message: unknown) {
    const { path: asked, recursive } = Watch.parse(message);
    const { path, sandboxes, id } = await reach(services, call, asked);
    const over = call.signal ?? new AbortController().signal;
    const changes = watchWorkspace(sandboxes, id, { folder: path, recursive }, over);
    // A folder that does not exist is the answer, not the end of a stream.
    const first = await changes.next();
    async function* events(): AsyncGenerator<object, void, undefined> {
      yield { start: {} };
      const known = new Set<string>();
      if (first.value != null) yield* toEvents(first.value, path, known);
      for await (const change of changes) {
        if (change === undefined) yield { keepalive: {} };
        else yield* toEvents(change, path, known);
      }
    }
    return events();
  },
} as const;

/** @param known names that have been seen: a change of another one is its creation */
function* toEvents({ type, path }: WatchEvent, folder: string, known: Set<string>): Generator<object> {
  const name = posix.relative(folder, path);
  if (type === 'changed') {
    const isNew = !known.has(name);
    known.add(name);
    if (isNew) yield { filesystem: { name, type: 'EVENT_TYPE_CREATE' } };
    yield { filesystem: { name, type: 'EVENT_TYPE_WRITE' } };
  }
  if (type === 'deleted') {
    known.delete(name);
    yield { filesystem: { name, type: 'EVENT_TYPE_REMOVE' } };
  }
}
