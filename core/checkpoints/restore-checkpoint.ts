import { Readable } from 'node:stream';
import * as z from 'zod/mini';
import { MAX_REMOVED_BYTES } from '#protocol/guest/tree-protocol.ts';
import {
  serverInfo,
  serverName,
  serverRequest,
  type ServerRequest,
} from '#protocol/guest/servers-protocol.ts';
import { done, type GuestProvider, query, send, UNPACKS_WITHIN_MS } from '../files/guest-files.ts';
import { commandEnvironment } from '../network/network-secrets.ts';
import { PortholeError } from '#base/errors.ts';
import { Guest, NOTHING } from '../processes/guest.ts';
import type { SandboxSpec } from '../sandboxes/sandbox-provider.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { getManifest, getMemory, readBlocks } from './checkpoint-objects.ts';
import { checkpointForked, checkpointRestored, type Performer } from './checkpoint-events.ts';
import type { CheckpointRecord } from './checkpoint-store.ts';
import { checkpointTar } from './checkpoint-tar.ts';
import { EMPTY_MANIFEST, type Manifest, restoreOf } from './manifest.ts';
import { memoryNotSupported } from './save-memory.ts';
import { type CheckpointDeps, takeCheckpoint } from './take-checkpoint.ts';

/** The guest's file of declared servers, which changes with each of them. */
export const SERVERS_FILE = '.porthole/servers.json';

/** Bytes of it that are read. */
const MAX_SERVERS_FILE = 4_194_304;

export interface Restored {
  /** What the sandbox was before. */
  readonly before: CheckpointRecord;
  /** Files, folders and links that were written, and those that were removed. */
  readonly written: number;
  readonly removed: number;
}

/**
 * Makes the files and the declared servers of a running sandbox those of a checkpoint, after a
 * checkpoint of the present. Other processes go on. If it fails half-way, restoring again, or
 * restoring the checkpoint of the present, completes it.
 * @throws PortholeError `checkpoint_damaged`, before anything has changed; what `takeCheckpoint`
 * throws; `workspace_archive_write_error`
 */
export async function restoreCheckpoint(
  deps: CheckpointDeps,
  sandbox: SandboxRecord,
  checkpoint: CheckpointRecord,
  by?: Performer,
  signal?: AbortSignal,
): Promise<Restored> {
  const { records, clock } = deps;
  const target = await manifestOf(deps, checkpoint);
  const present = await takeCheckpoint(deps, sandbox, { label: null, cause: 'restore', by }, signal);
  // Without the signal: a client that leaves must not leave half of it behind.
  const changes = await writeFiles(deps, sandbox, checkpoint, present.manifest, target);
  await declareServers(deps, sandbox, checkpoint, target);
  const { family, id } = checkpoint;
  const head = { family, checkpointId: id, madeId: present.checkpoint.id };
  const event = checkpointRestored(checkpoint, present.checkpoint, changes, by);
  await records.checkpoints.setHead(sandbox, head, { sandboxId: sandbox.id, event, at: clock.now() });
  return { before: present.checkpoint, ...changes };
}

/**
 * Makes a sandbox with the files and the processes of a checkpoint.
 * @returns undefined, or why it runs only from its files
 * @throws PortholeError `checkpoint_damaged`, `workspace_archive_write_error`, and what the
 * provider throws
 */
export async function createWithMemory(
  { sandboxes: { memory }, store }: Pick<CheckpointDeps, 'sandboxes' | 'store'>,
  spec: SandboxSpec,
  checkpoint: CheckpointRecord,
  manifest: Manifest,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (memory === undefined) throw memoryNotSupported();
  const image = await getMemory(store, checkpoint);
  const fill = (guest: GuestProvider) =>
    writeFiles({ sandboxes: guest, store }, spec, checkpoint, EMPTY_MANIFEST, manifest, true);
  try {
    return await memory.create(spec, fill, image, signal);
  } finally {
    image.destroy();
  }
}

/**
 * Completes a new sandbox with what it lacks of a checkpoint: its files, and its declared servers
 * unless its processes go on.
 * @throws PortholeError `checkpoint_damaged`, `workspace_archive_write_error`
 */
export async function fillFromCheckpoint(
  deps: CheckpointDeps,
  sandbox: SandboxRecord,
  checkpoint: CheckpointRecord,
  manifest: Manifest,
  {
    sandboxId,
    has,
    by,
  }: {
    /** The sandbox that is forked. */
    readonly sandboxId: string;
    readonly has: 'nothing' | 'files' | 'memory';
    readonly by?: Performer | undefined;
  },
): Promise<void> {
  if (has === 'nothing') await writeFiles(deps, sandbox, checkpoint, EMPTY_MANIFEST, manifest);
  if (has !== 'memory') await declareServers(deps, sandbox, checkpoint, manifest);
  const { family, id } = checkpoint;
  const head = { family, checkpointId: id, madeId: null };
  const event = checkpointForked(checkpoint, sandbox.id, by);
  const { records, clock } = deps;
  await records.checkpoints.setHead(sandbox, head, { sandboxId, event, at: clock.now() });
}

/** @throws PortholeError `checkpoint_damaged`, `archive_error` */
export async function manifestOf({ store, records }: CheckpointDeps, checkpoint: CheckpointRecord) {
  return (await getManifest({ store, get: (id) => records.checkpoints.get(id) }, checkpoint)).manifest;
}

async function writeFiles(
  { sandboxes, store }: Pick<CheckpointDeps, 'store'> & { readonly sandboxes: GuestProvider },
  { id }: Pick<SandboxRecord, 'id'>,
  checkpoint: CheckpointRecord,
  from: Manifest,
  to: Manifest,
  withServersFile = false,
): Promise<Pick<Restored, 'written' | 'removed'>> {
  const changes = restoreOf(from, to);
  const isOurs = (path: string) => path === SERVERS_FILE && !withServersFile;
  const gone = changes.removed.filter((path) => !isOurs(path));
  const written = changes.written.filter(({ path }) => !isOurs(path));
  if (gone.length + written.length > 0) {
    const paths = Buffer.from(gone.map((path) => `${path}\0`).join(''));
    if (paths.length > MAX_REMOVED_BYTES) throw tooManyRemoved(gone.length);
    const path = `/v1/tree?${query({ ...(paths.length > 0 && { removes: String(paths.length) }) })}`;
    const call = { method: 'PUT', path, answerWithin: UNPACKS_WITHIN_MS } as const;
    const content = Readable.from(afterPaths(paths, checkpointTar(store, checkpoint, written)));
    await send(sandboxes, id, call, content, done);
  }
  return { written: written.length, removed: gone.length };
}

async function* afterPaths(paths: Buffer, tar: AsyncIterable<Buffer>) {
  if (paths.length > 0) yield paths;
  yield* tar;
}

function tooManyRemoved(count: number): PortholeError {
  return new PortholeError(
    'payload_too_large',
    `The restore would remove ${count} files and folders with names of over ${MAX_REMOVED_BYTES / 1_048_576} MiB`,
    { remedy: 'delete some of them first.' },
  );
}

const serversFile = z.object({
  servers: z.record(serverName, z.object({ declaration: serverRequest, stopped: z.boolean() })),
});

/** Removes servers that the checkpoint does not have, and starts those that it has. */
async function declareServers(
  { sandboxes, store }: CheckpointDeps,
  sandbox: SandboxRecord,
  checkpoint: CheckpointRecord,
  manifest: Manifest,
): Promise<void> {
  const guest = new Guest(sandboxes, sandbox.id);
  const wanted = await serversIn({ store }, checkpoint, manifest);
  const servers = await guest.servers();
  // Also those that stay: each starts on the files of the checkpoint.
  await Promise.all(servers.map(({ name }) => guest.call('DELETE', `/v1/servers/${name}`, NOTHING)));
  await Promise.all(
    wanted.map(async ([name, { declaration, stopped }]) => {
      const body = { ...declaration, sandbox_env: commandEnvironment(sandbox) } satisfies ServerRequest;
      await guest.call('PUT', `/v1/servers/${name}`, serverInfo, { body });
      if (stopped) await guest.call('POST', `/v1/servers/${name}/stop`, serverInfo);
    }),
  );
}

/** None where the sandbox's code has changed the file to something else. */
async function serversIn(
  { store }: Pick<CheckpointDeps, 'store'>,
  checkpoint: CheckpointRecord,
  manifest: Manifest,
): Promise<[string, { readonly declaration: ServerRequest; readonly stopped: boolean }][]> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const block of readBlocks(store, checkpoint, manifest.get(SERVERS_FILE)?.blocks ?? [])) {
    size += block.length;
    if (size > MAX_SERVERS_FILE) return [];
    pieces.push(block);
  }
  try {
    const { servers } = serversFile.parse(JSON.parse(Buffer.concat(pieces).toString()));
    return Object.entries(servers).slice(0, 200);
  } catch {
    return [];
  }
}
