import { Readable } from 'node:stream';
import { boundedJson, type JsonLimits } from '#base/bounded-json.ts';
import { readFrames } from '#base/frames.ts';
import {
  knownEntries,
  MAX_KNOWN_RANGES,
  MAX_TREE_CONTENTS,
  MAX_TREE_FRAME,
  TREE,
  treeEnd,
  type TreeEnd,
  treeEntry,
  treeOrder,
} from '#protocol/guest/tree-protocol.ts';
import type { GuestProvider } from '../files/guest-files.ts';
import { guestFailure, turnsOf } from '../processes/guest-answers.ts';
import type { Manifest, ManifestEntry } from './manifest.ts';
import type { PackWriter } from './pack-writer.ts';
import { PortholeError } from '#base/errors.ts';

/** Entries of a checkpoint: some 300 bytes of memory each. */
const MAX_ENTRIES = 500_000;

/** Time for the first byte, in ms: a cold disk needs seconds to list a large folder. */
const ANSWERS_WITHIN = 60_000;

/** A frame of `known` has the most values. */
const FRAME: JsonLimits = { depth: 4, values: 4 * MAX_KNOWN_RANGES };

const TREE_FRAMES = {
  contents: TREE.contents,
  maxContents: MAX_TREE_CONTENTS,
  maxWhole: MAX_TREE_FRAME,
  malformed: () => new Error('a frame is cut off or too long'),
} as const;

export interface ReadTree extends TreeEnd {
  readonly manifest: Manifest;
}

/**
 * All of a workspace. Contents of entries that are as in `known` are not read.
 * @throws PortholeError `exec_transport_error`, `payload_too_large`,
 * `workspace_archive_read_error`, and the error of the pack
 */
export async function readTree(
  sandboxes: GuestProvider,
  sandboxId: string,
  known: Manifest,
  writer: PackWriter,
  signal?: AbortSignal,
): Promise<ReadTree> {
  const before = [...known.values()];
  const body = Readable.from(knownTexts(before), { objectMode: false });
  const headers = { 'content-type': 'application/octet-stream' };
  const call = { method: 'POST', path: '/v1/tree', headers, body, answerWithin: ANSWERS_WITHIN } as const;
  const answer = await sandboxes.callGuest(sandboxId, call, signal);
  const entries = new Map<string, ManifestEntry>();
  const pause = turnsOf(sandboxId);
  let last = '';
  /** Adds entries that are in order. */
  const add = (added: readonly ManifestEntry[]) => {
    const [first, end] = [added[0], added.at(-1)].map((each) => treeOrder(each?.path ?? ''));
    if (first === undefined || end === undefined || first <= last) {
      throw new Error('its entries are out of order');
    }
    last = end;
    for (const entry of added) entries.set(entry.path, entry);
    if (entries.size > MAX_ENTRIES) throw tooManyFiles();
  };
  try {
    for await (const { type, payload } of readFrames(answer as AsyncIterable<Buffer>, TREE_FRAMES)) {
      const turn = pause();
      if (turn !== undefined) await turn;
      if (type === TREE.contents) await writer.write(payload);
      else if (type === TREE.entry) {
        const entry = treeEntry.parse(boundedJson(payload.toString(), FRAME));
        const blocks = await writer.endFile();
        if (blocks.length > 0 && entry.type !== 'file') throw new Error('only a file has contents');
        if ((entry.link === undefined) !== (entry.type !== 'symlink' && entry.type !== 'hardlink')) {
          throw new Error('a link has a target, and nothing else');
        }
        add([{ ...entry, blocks }]);
      } else if (type === TREE.known) {
        for (const [from, to] of knownEntries.parse(boundedJson(payload.toString(), FRAME))) {
          if (to > before.length || from >= to) throw new Error('no such range');
          add(before.slice(from, to));
        }
      } else if (type === TREE.end) {
        return { manifest: entries, ...treeEnd.parse(boundedJson(payload.toString(), FRAME)) };
      } else throw new Error('no such frame');
    }
    throw new Error('it has no end');
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PortholeError) throw error;
    throw guestFailure(sandboxId, 'its guest did not send its files', error);
  } finally {
    answer.destroy();
    body.destroy();
  }
}

function* knownTexts(entries: readonly ManifestEntry[]): Generator<Buffer, void, undefined> {
  let text = '';
  for (const { path, version } of entries) {
    text += `${path}\0${version}\0`;
    if (text.length < 65_536) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

function tooManyFiles(): PortholeError {
  return new PortholeError(
    'payload_too_large',
    `The workspace has more than ${MAX_ENTRIES} files and folders`,
    {
      remedy: 'delete some, or keep them outside /workspace.',
    },
  );
}
