import { LRUCache } from 'lru-cache';
import type { Ids } from '#base/clock-and-ids.ts';
import { oneAtATime } from '#base/concurrency.ts';
import { PortholeError } from '#base/errors.ts';
import { Guest } from '../processes/guest.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { getManifest, putManifest, putPack, removeObjects } from './checkpoint-objects.ts';
import { checkpointCreated, type Performer } from './checkpoint-events.ts';
import type {
  CheckpointCause,
  CheckpointRecord,
  CheckpointRecords,
  NewCheckpoint,
} from './checkpoint-store.ts';
import { EMPTY_MANIFEST, type Extended, fileChanges, type Manifest, totalsOf } from './manifest.ts';
import { type CollectDeps, surplusOf } from './collect-checkpoints.ts';
import { blocksOf, PackWriter } from './pack-writer.ts';
import { readTree } from './read-tree.ts';
import { type MemoryWish, saveMemory } from './save-memory.ts';

/** Of one owner. */
export interface CheckpointLimits {
  /** Bytes of the objects of all checkpoints. */
  readonly maxBytes: number;
}

export interface CheckpointDeps extends CollectDeps {
  readonly sandboxes: Pick<Sandboxes, 'callGuest' | 'memory'>;
  readonly limits: CheckpointLimits;
  readonly ids: Ids;
}

export interface AskedCheckpoint {
  readonly label: string | null;
  readonly cause: CheckpointCause;
  /** Whether processes and their memory are kept, too. @default false */
  readonly memory?: MemoryWish;
  readonly by?: Performer;
}

export interface TakenCheckpoint {
  readonly checkpoint: CheckpointRecord;
  readonly manifest: Manifest;
}

/**
 * Stores the files of a running sandbox: what has changed since its last checkpoint. Killed at any
 * point, it leaves a record that is `creating`, which the next pass removes with its objects.
 * @throws PortholeError `disk_full` over the owner's limit, `memory_not_supported` if memory is
 * required, `payload_too_large`, `archive_error`, and what the provider throws
 */
export async function takeCheckpoint(
  deps: CheckpointDeps,
  sandbox: SandboxRecord,
  asked: AskedCheckpoint,
  signal?: AbortSignal,
): Promise<TakenCheckpoint> {
  const taken = await inTurn(deps, sandbox, { ...asked, isOnlyForChanges: false }, signal);
  return taken as TakenCheckpoint;
}

/** Like `takeCheckpoint`. Undefined, and nothing stored, if no file differs from the last one. */
export function takeIfChanged(
  deps: CheckpointDeps,
  sandbox: SandboxRecord,
  asked: AskedCheckpoint,
  signal?: AbortSignal,
): Promise<TakenCheckpoint | undefined> {
  return inTurn(deps, sandbox, { ...asked, isOnlyForChanges: true }, signal);
}

interface Wanted extends AskedCheckpoint {
  readonly isOnlyForChanges: boolean;
}

/** A mutex of this process; two processes store the same blocks twice. */
function inTurn(
  deps: CheckpointDeps,
  sandbox: SandboxRecord,
  wanted: Wanted,
  signal: AbortSignal | undefined,
): Promise<TakenCheckpoint | undefined> {
  return oneAtATime(deps.records.checkpoints, sandbox.id, () => take(deps, sandbox, wanted, signal));
}

async function take(
  deps: CheckpointDeps,
  sandbox: SandboxRecord,
  { label, cause, by, memory: wish = false, isOnlyForChanges }: Wanted,
  signal: AbortSignal | undefined,
): Promise<TakenCheckpoint | undefined> {
  const { records, store, clock, ids, limits } = deps;
  const stored = await records.checkpoints.storedBytes(sandbox.owner);
  if (stored >= limits.maxBytes) throw overLimit(limits);
  const known = await knownOf(deps, sandbox);
  const id = ids.checkpoint();
  const begun: NewCheckpoint = {
    id,
    owner: sandbox.owner,
    sandboxId: sandbox.id,
    generation: sandbox.generation,
    family: known.family ?? id,
    parentId: known.parentId,
    label,
    cause,
    createdAt: clock.now(),
    image: sandbox.image,
    variables: Object.keys(sandbox.env).sort(),
  };
  if (!(await records.checkpoints.begin(begun, known.needed))) {
    throw new PortholeError('conflict', 'The checkpoint before was deleted at this moment', {
      remedy: 'try again.',
      retryable: true,
    });
  }
  const ref = { family: begun.family, id };
  const writer = new PackWriter({
    id,
    known: known.made === known.head ? blocksOf(known.made) : blocksOf(known.made, known.head),
    put: (content) => putPack(store, ref, content, signal),
    grows(size) {
      if (stored + size > limits.maxBytes) throw overLimit(limits);
    },
  });
  try {
    let tree = await readTree(deps.sandboxes, sandbox.id, known.made, writer, signal);
    if (isOnlyForChanges && known.parentId !== null && fileChanges(known.head, tree.manifest).length === 0) {
      await writer.abort(new Error('nothing has changed'));
      await removeObjects(store, ref);
      await records.checkpoints.remove([id]);
      return undefined;
    }
    const room = limits.maxBytes - stored - writer.size;
    const memory = await saveMemory(deps, sandbox.id, ref, wish, room);
    let isConsistent = tree.unsettled === 0;
    if (memory !== null) {
      // The files must be those of the moment at which the memory was saved.
      const before = tree.manifest;
      tree = await readTree(deps.sandboxes, sandbox.id, before, writer, signal);
      isConsistent &&= tree.unsettled === 0 && fileChanges(before, tree.manifest).length === 0;
    }
    const { manifest } = tree;
    const [{ baseId, manifestSha256, bytes }, servers] = await whenAllEnd(
      putManifest(store, ref, manifest, known.whole),
      new Guest(deps.sandboxes, sandbox.id).servers(signal),
      writer.end(),
    );
    const { files, bytes: size, packs } = totalsOf(manifest);
    const finished = {
      files,
      bytes: size,
      storedBytes: writer.size + bytes + (memory?.bytes ?? 0),
      leftOut: tree.unreadable,
      isConsistent,
      memory,
      baseId,
      manifestSha256,
      packs,
      servers: servers.map(({ name, port }) => ({ name, port })),
    };
    const checkpoint = await records.checkpoints.finish(begun, finished, {
      sandboxId: sandbox.id,
      event: checkpointCreated({ ...begun, files }, by),
      at: clock.now(),
    });
    const whole = baseId === null || known.whole === undefined ? { id, manifest } : known.whole;
    takenOf(records.checkpoints).set(id, { id, manifest, whole });
    if (cause !== 'manual') {
      // Their objects go with the next pass.
      await records.checkpoints.markDeleted(surplusOf(await records.checkpoints.list(sandbox)));
    }
    return { checkpoint, manifest };
  } catch (error) {
    await writer.abort(error as Error);
    await removeObjects(store, ref)
      .then(() => records.checkpoints.remove([id]))
      // Its record remains, and the next pass removes both.
      .catch(() => undefined);
    throw error;
  }
}

/** Rejects only once nothing is being stored any more: it could not be removed. */
async function whenAllEnd<T extends readonly Promise<unknown>[]>(...works: T) {
  await Promise.allSettled(works);
  return Promise.all(works);
}

/** Entries of the manifests in memory, some 300 bytes each. */
const MAX_KEPT_ENTRIES = 300_000;

interface ReadManifest {
  readonly id: string;
  readonly manifest: Manifest;
  /** What the manifest of a later checkpoint may extend. */
  readonly whole: Extended;
}

const taken = new WeakMap<object, LRUCache<string, ReadManifest>>();

/** Manifests of the last checkpoints that this process has made: most are the next one's parent. */
function takenOf(records: object): LRUCache<string, ReadManifest> {
  const sizeCalculation = ({ manifest, whole }: ReadManifest) =>
    1 + manifest.size + (whole.manifest === manifest ? 0 : whole.manifest.size);
  const kept = taken.get(records) ?? new LRUCache({ maxSize: MAX_KEPT_ENTRIES, sizeCalculation });
  taken.set(records, kept);
  return kept;
}

interface Known {
  readonly family: string | undefined;
  /** Checkpoints of which blocks or a manifest may be used. */
  readonly needed: readonly string[];
  readonly parentId: string | null;
  /** What the sandbox was at. */
  readonly head: Manifest;
  /** The last checkpoint of this sandbox: its versions of files can be compared. */
  readonly made: Manifest;
  /** What the new manifest may extend. */
  readonly whole: Extended | undefined;
}

/** Whether both come from one sandbox, so that their checkpoints share packs. */
export async function areOfOneFamily(
  checkpoints: Pick<CheckpointRecords, 'head'>,
  ...sandboxes: readonly [SandboxRecord, SandboxRecord]
): Promise<boolean> {
  const [one, other] = await Promise.all(sandboxes.map((each) => checkpoints.head(each)));
  return one !== undefined && one.family === other?.family;
}

/** What the next checkpoint of a sandbox can share with earlier ones. */
export async function knownOf(deps: CheckpointDeps, sandbox: SandboxRecord): Promise<Known> {
  const { checkpoints } = deps.records;
  const [at, list] = await Promise.all([checkpoints.head(sandbox), checkpoints.list(sandbox)]);
  // Where the last one was deleted: what came before it saves as much.
  const newest = list.at(-1)?.id;
  const head = (await manifestIfThere(deps, at?.checkpointId)) ?? (await manifestIfThere(deps, newest));
  const made =
    at?.madeId === head?.id
      ? head
      : ((await manifestIfThere(deps, at?.madeId)) ?? (await manifestIfThere(deps, newest)));
  return {
    family: at?.family,
    needed: [...new Set([head?.id, made?.id])].filter((id) => id !== undefined),
    parentId: head?.id ?? null,
    head: head?.manifest ?? EMPTY_MANIFEST,
    made: made?.manifest ?? EMPTY_MANIFEST,
    whole: head?.whole,
  };
}

/** Undefined for a deleted or damaged one: then all files are stored again. */
async function manifestIfThere(
  { store, records }: CheckpointDeps,
  id: string | null | undefined,
): Promise<ReadManifest | undefined> {
  if (id == null) return undefined;
  const checkpoint = await records.checkpoints.get(id);
  if (checkpoint?.state !== 'ready') return undefined;
  const kept = takenOf(records.checkpoints).get(id);
  if (kept !== undefined) return kept;
  try {
    const read = await getManifest({ store, get: (base) => records.checkpoints.get(base) }, checkpoint);
    return { id, ...read };
  } catch (error) {
    if (error instanceof PortholeError && error.code === 'checkpoint_damaged') return undefined;
    throw error;
  }
}

function overLimit({ maxBytes }: CheckpointLimits): PortholeError {
  const gib = Math.round((maxBytes / 1_073_741_824) * 10) / 10;
  return new PortholeError('disk_full', `Your checkpoints take ${gib} GiB, which is the limit`, {
    remedy:
      'delete checkpoints that you do not need, or ask an administrator to raise PORTHOLE_CHECKPOINTS_MIB.',
  });
}
