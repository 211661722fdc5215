/** The objects of checkpoints in their store: a manifest each, and a pack if something was new. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { PortholeError } from '#base/errors.ts';
import type { ArchiveStore } from '../archives/archive-store.ts';
import type { CheckpointObjects, CheckpointRecord, StoredMemory } from './checkpoint-store.ts';
import {
  baseOf,
  type Block,
  EMPTY_MANIFEST,
  type Extended,
  type Manifest,
  manifestLines,
  readManifest,
} from './manifest.ts';

/** Bytes of a manifest: a million entries. A larger one is damaged. */
const MAX_MANIFEST = 512 * 1_048_576;

export type ObjectStore = ArchiveStore;

type Ref = Pick<CheckpointRecord, 'family' | 'id'>;

const manifestKey = ({ family, id }: Ref): string => `checkpoints/${family}/${id}.manifest`;
const memoryKey = ({ family, id }: Ref): string => `checkpoints/${family}/${id}.memory`;
const packKey = ({ family, id }: Ref): string => `checkpoints/${family}/${id}.pack`;

export function damaged({ id }: Pick<Ref, 'id'>, cause?: unknown): PortholeError {
  return new PortholeError('checkpoint_damaged', `Checkpoint ${id} is damaged, and nothing of it was used`, {
    remedy: 'restore another checkpoint, and delete this one.',
    cause,
  });
}

export async function putManifest(
  store: ObjectStore,
  ref: Ref,
  manifest: Manifest,
  base: Extended | undefined,
): Promise<Pick<CheckpointObjects, 'baseId' | 'manifestSha256'> & { readonly bytes: number }> {
  const { baseId, text } = manifestLines(manifest, base);
  const content = await promisify(gzip)(text, { level: 1 });
  await store.put(manifestKey(ref), Readable.from([content]));
  return { baseId, manifestSha256: sha256(content), bytes: content.length };
}

export interface ReadDeps {
  readonly store: ObjectStore;
  /** A `ready` or `deleted` checkpoint. */
  readonly get: (id: string) => Promise<CheckpointRecord | undefined>;
}

/**
 * Its manifest, and the whole manifest that it may extend.
 * @throws PortholeError `checkpoint_damaged`, `archive_error`
 */
export async function getManifest(
  { store, get }: ReadDeps,
  checkpoint: CheckpointRecord,
): Promise<{ readonly manifest: Manifest; readonly whole: Extended }> {
  const text = await manifestText(store, checkpoint);
  try {
    const baseId = baseOf(text);
    if (baseId !== checkpoint.baseId) throw new Error('its base is another one than its record says');
    if (baseId === null) {
      const manifest = readManifest(text, EMPTY_MANIFEST);
      return { manifest, whole: { id: checkpoint.id, manifest } };
    }
    const base = await get(baseId);
    if (base?.baseId !== null) throw new Error('its base has no whole manifest');
    const whole = readManifest(await manifestText(store, base), EMPTY_MANIFEST);
    return { manifest: readManifest(text, whole), whole: { id: baseId, manifest: whole } };
  } catch (error) {
    throw error instanceof PortholeError ? error : damaged(checkpoint, error);
  }
}

async function manifestText(store: ObjectStore, checkpoint: CheckpointRecord): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of (await open(
    store,
    manifestKey(checkpoint),
    checkpoint,
  )) as AsyncIterable<Buffer>) {
    pieces.push(piece);
  }
  const content = Buffer.concat(pieces);
  if (sha256(content) !== checkpoint.manifestSha256) throw damaged(checkpoint);
  return (await promisify(gunzip)(content, { maxOutputLength: MAX_MANIFEST })).toString();
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function open(
  store: ObjectStore,
  key: string,
  ref: Ref,
  range?: { readonly from: number; readonly length: number },
): Promise<Readable> {
  try {
    return await store.get(key, range);
  } catch (error) {
    if (error instanceof PortholeError && error.code === 'archive_not_found') throw damaged(ref, error);
    throw error;
  }
}

export function putPack(
  store: ObjectStore,
  ref: Ref,
  content: Readable,
  signal?: AbortSignal,
): Promise<void> {
  return store.put(packKey(ref), content, signal);
}

/** Stores an image of processes and their memory. */
export async function putMemory(
  store: ObjectStore,
  ref: Ref,
  image: Readable,
  signal?: AbortSignal,
): Promise<StoredMemory> {
  const hash = createHash('sha256');
  let bytes = 0;
  const counted = async function* () {
    for await (const piece of image as AsyncIterable<Buffer>) {
      hash.update(piece);
      bytes += piece.length;
      yield piece;
    }
  };
  await store.put(memoryKey(ref), Readable.from(counted(), { objectMode: false }), signal);
  return { sha256: hash.digest('hex'), bytes };
}

/**
 * Such an image. It ends with `checkpoint_damaged` unless it has its hash: use nothing before its
 * end.
 */
export async function getMemory(store: ObjectStore, checkpoint: CheckpointRecord): Promise<Readable> {
  const content = await open(store, memoryKey(checkpoint), checkpoint);
  const hash = createHash('sha256');
  const checked = async function* () {
    for await (const piece of content as AsyncIterable<Buffer>) {
      hash.update(piece);
      yield piece;
    }
    if (hash.digest('hex') !== checkpoint.memory?.sha256) throw damaged(checkpoint);
  };
  return Readable.from(checked(), { objectMode: false });
}

export function removeMemory(store: ObjectStore, ref: Ref): Promise<void> {
  return store.remove(memoryKey(ref));
}

export async function removeObjects(store: ObjectStore, ref: Ref): Promise<void> {
  await removeMemory(store, ref);
  await store.remove(packKey(ref));
  await store.remove(manifestKey(ref));
}

/** Blocks with less than this between them are read in one request, in bytes. */
const GAP = 65_536;
/** Bytes of a request: what a failed one repeats. */
const MOST = 16_777_216;

interface Run {
  readonly pack: string;
  readonly from: number;
  to: number;
  readonly blocks: Block[];
}

/**
 * The bytes of blocks, in their order, each checked against its hash. Reads neighbours in a pack
 * with one request.
 * @throws PortholeError `checkpoint_damaged`, `archive_error`
 */
export async function* readBlocks(
  store: ObjectStore,
  checkpoint: CheckpointRecord,
  blocks: Iterable<Block>,
): AsyncGenerator<Buffer, void, undefined> {
  for (const run of runsOf(blocks)) {
    const ref = { family: checkpoint.family, id: run.pack };
    const range = { from: run.from, length: run.to - run.from };
    const content = await open(store, packKey(ref), checkpoint, range);
    const source = new Bytes(content as AsyncIterable<Buffer>);
    try {
      let at = run.from;
      for (const block of run.blocks) {
        await source.take(block.at - at);
        const bytes = await source.take(block.length);
        at = block.at + block.length;
        if (bytes.length !== block.length || hashOf(bytes) !== block.hash) throw damaged(checkpoint);
        yield bytes;
      }
    } finally {
      content.destroy();
    }
  }
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64url');

function* runsOf(blocks: Iterable<Block>): Generator<Run, void, undefined> {
  let run: Run | undefined;
  for (const block of blocks) {
    const end = block.at + block.length;
    if (
      run !== undefined &&
      run.pack === block.pack &&
      block.at >= run.to &&
      block.at - run.to <= GAP &&
      end - run.from <= MOST
    ) {
      run.to = end;
      run.blocks.push(block);
      continue;
    }
    if (run !== undefined) yield run;
    run = { pack: block.pack, from: block.at, to: end, blocks: [block] };
  }
  if (run !== undefined) yield run;
}

/** Takes bytes from a stream of pieces. */
class Bytes {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#pieces = source[Symbol.asyncIterator]();
  }

  /** Fewer at the end. */
  async take(length: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let missing = length;
    while (missing > 0) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#pieces.next();
        if (done === true) break;
        this.#rest = value;
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      parts.push(part);
    }
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }
}
