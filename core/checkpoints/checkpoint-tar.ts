import { END_OF_ARCHIVE, padding, putGnuHeaders } from '#base/tar/write-tar.ts';
import { type ObjectStore, readBlocks } from './checkpoint-objects.ts';
import type { CheckpointRecord } from './checkpoint-store.ts';
import { type ManifestEntry, sizeOf } from './manifest.ts';

/** Bytes of headers with the longest path and link. */
const HEADERS = 12_288;
/** Pieces of this size cost the fewest calls. */
const PIECE = 262_144;

const FLAGS = { file: '0', hardlink: '1', symlink: '2', directory: '5', fifo: '6' } as const;

/**
 * Entries of a checkpoint as a tar. Each block is checked before it is sent, so a damaged
 * checkpoint ends the tar early, and its receiver uses nothing of it.
 * @throws PortholeError `checkpoint_damaged`, `archive_error`
 */
export async function* checkpointTar(
  store: ObjectStore,
  checkpoint: CheckpointRecord,
  entries: readonly ManifestEntry[],
): AsyncGenerator<Buffer, void, undefined> {
  const blocks = readBlocks(store, checkpoint, blocksOfEach(entries));
  let parts: Buffer[] = [];
  let held = 0;
  const hold = (part: Buffer) => {
    parts.push(part);
    held += part.length;
  };
  for (const entry of entries) {
    hold(headersOf(entry));
    for (const _ of entry.blocks) {
      const { value } = await blocks.next();
      hold(value as Buffer);
      if (held < PIECE) continue;
      yield Buffer.concat(parts);
      parts = [];
      held = 0;
    }
    hold(padding(sizeOf(entry)));
  }
  hold(END_OF_ARCHIVE);
  yield Buffer.concat(parts);
}

function* blocksOfEach(entries: readonly ManifestEntry[]) {
  for (const { blocks } of entries) yield* blocks;
}

const space = Buffer.alloc(HEADERS);

function headersOf(entry: ManifestEntry): Buffer {
  const { path, type, mode, mtime, link } = entry;
  const end = putGnuHeaders(space, 0, {
    name: type === 'directory' ? `./${path}/` : `./${path}`,
    mode,
    size: sizeOf(entry),
    mtime,
    type: FLAGS[type],
    linkName: type === 'hardlink' ? `./${link}` : (link ?? ''),
  });
  return Buffer.from(space.subarray(0, end));
}
