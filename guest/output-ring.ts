import { EventEmitter, once } from 'node:events';
import { closeSync, mkdirSync, readdirSync, rmSync, writevSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import type { OutputKind } from './command-output.ts';
import { EventStream } from './guest-event-stream.ts';
import { openPlain, readPlain } from './plain-file.ts';
import { OUTPUT_BYTES } from '../protocol/guest/processes-protocol.ts';

/** The oldest segment is removed as a whole: one of this many. */
const SEGMENTS = 16;

/** A record is the stream (1 byte), the length (4) and at most this many bytes. */
const HEAD = 5;
const MAX_RECORD_BYTES = 64 * 1024;

/**
 * `exit`: a server's process has ended; its bytes are JSON. They count, so that every event has a
 * unique cursor.
 */
export type RecordKind = OutputKind | 'exit';
const KINDS: readonly RecordKind[] = ['stdout', 'stderr', 'exit'];

/** One file of the output, named after the cursor of its first byte. */
interface Segment {
  readonly start: number;
  end: number;
  size: number;
}

export interface OutputPiece {
  readonly kind: RecordKind;
  readonly bytes: Buffer;
  /** The cursor after the bytes. */
  readonly cursor: number;
}

/** Result of a read: the pieces from a cursor on, and the number of lost bytes before them. */
export interface RingRead {
  readonly cut: number;
  readonly pieces: readonly OutputPiece[];
  readonly cursor: number;
}

/**
 * The latest output of one process on disk, so that it survives the guest. A cursor counts the
 * bytes of both streams in the order of arrival. All calls are synchronous: when a write returns,
 * its data is in the file.
 */
export class OutputRing {
  readonly #folder: string;
  readonly #limit: number;
  readonly #segments: Segment[];
  #file: number | undefined;
  /** Emits `change` after each append, and at the end. */
  readonly changes = new EventEmitter().setMaxListeners(0);
  #isClosed = false;

  /** Opens the ring of an earlier guest, or creates one. */
  constructor(folder: string, limit: number = OUTPUT_BYTES.usual) {
    this.#folder = folder;
    this.#limit = limit;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#segments = readdirSync(folder)
      .filter((name) => /^\d{16}\.out$/.test(name))
      .toSorted()
      // The maximum of valid files: code in the sandbox may have added any number.
      .slice(-SEGMENTS - 1)
      .map((name) => this.#knownSegment(Number.parseInt(name, 10)));
  }

  get from(): number {
    return this.#segments[0]?.start ?? 0;
  }

  get to(): number {
    return this.#segments.at(-1)?.end ?? 0;
  }

  append(kind: RecordKind, bytes: Buffer): void {
    // A record larger than a segment would exceed the ring's limit.
    const most = kind === 'exit' ? MAX_RECORD_BYTES : Math.min(MAX_RECORD_BYTES, this.#segmentLimit - HEAD);
    for (let at = 0; at < bytes.length; at += most) this.#append(kind, bytes.subarray(at, at + most));
    this.changes.emit('change');
  }

  get bytes(): number {
    return this.to - this.from;
  }

  close(): void {
    this.#isClosed = true;
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.changes.emit('change');
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * The next pieces, about 128 KiB at most; adjacent pieces of one stream are merged. Empty at the
   * end.
   */
  read(since: number): RingRead {
    const cursor = Math.max(since, this.from);
    const cut = cursor - since;
    const segment = this.#segments.findLast(({ start }) => start <= cursor);
    if (segment === undefined || cursor >= this.to) return { cut, pieces: [], cursor };
    const next = this.#segments[this.#segments.indexOf(segment) + 1]?.start ?? this.to;
    if (cursor >= segment.end) return { cut: cut + next - cursor, pieces: [], cursor: next };
    const pieces = this.#readSegment(segment, cursor);
    const last = pieces.at(-1);
    if (last !== undefined) return { cut, pieces, cursor: last.cursor };
    // Code in the sandbox has removed or changed the file: its bytes are lost.
    return { cut: cut + next - cursor, pieces: [], cursor: next };
  }

  #append(kind: RecordKind, bytes: Buffer): void {
    let segment = this.#segments.at(-1);
    const size = HEAD + bytes.length;
    const fits = segment !== undefined && (segment.size === 0 || segment.size + size <= this.#segmentLimit);
    if (segment === undefined || this.#file === undefined || !fits) segment = this.#nextSegment();
    const head = Buffer.alloc(HEAD);
    head[0] = KINDS.indexOf(kind);
    head.writeUInt32BE(bytes.length, 1);
    writevSync(this.#file as number, [head, bytes]);
    segment.end += bytes.length;
    segment.size += size;
  }

  get #segmentLimit(): number {
    return this.#limit / SEGMENTS;
  }

  /** Begins a file, and removes the oldest files beyond the limit. */
  #nextSegment(): Segment {
    if (this.#file !== undefined) closeSync(this.#file);
    const segment = { start: this.to, end: this.to, size: 0 };
    // An earlier guest may have begun a file at this cursor without a complete record.
    if (this.#segments.at(-1)?.start === segment.start) this.#segments.pop();
    this.#segments.push(segment);
    this.#file = openPlain(this.#path(segment.start));
    const sum = () => this.#segments.reduce((total, { size }) => total + size, 0);
    while (this.#segments.length > 1 && sum() > this.#limit - this.#segmentLimit) {
      rmSync(this.#path((this.#segments.shift() as Segment).start), { force: true });
    }
    return segment;
  }

  #readSegment(segment: Segment, cursor: number): OutputPiece[] {
    const pieces: { kind: RecordKind; parts: Buffer[]; length: number; cursor: number }[] = [];
    let total = 0;
    for (const { kind, bytes, start } of this.#records(segment.start)) {
      const end = start + bytes.length;
      if (end <= cursor) continue;
      // An exit is never split.
      if (kind === 'exit' && start < cursor) continue;
      const fresh = bytes.subarray(Math.max(0, cursor - start));
      const last = pieces.at(-1);
      if (last?.kind === kind && kind !== 'exit' && last.length + fresh.length <= MAX_RECORD_BYTES) {
        last.parts.push(fresh);
        last.length += fresh.length;
        last.cursor = end;
      } else {
        if (total >= 2 * MAX_RECORD_BYTES) break;
        pieces.push({ kind, parts: [fresh], length: fresh.length, cursor: end });
      }
      total += fresh.length;
    }
    return pieces.map(({ kind, parts, length, cursor }) => ({
      kind,
      bytes: Buffer.concat(parts, length),
      cursor,
    }));
  }

  /** The complete records of a segment; skips a partial record of a killed guest. */
  *#records(start: number): Generator<{ kind: RecordKind; bytes: Buffer; start: number }> {
    let content: Buffer;
    try {
      content = readPlain(this.#path(start), 2 * this.#limit);
    } catch {
      return;
    }
    let at = 0;
    let cursor = start;
    while (at + HEAD <= content.length) {
      const kind = KINDS[content[at] as number];
      const length = content.readUInt32BE(at + 1);
      if (kind === undefined || length > MAX_RECORD_BYTES || at + HEAD + length > content.length) return;
      yield { kind, bytes: content.subarray(at + HEAD, at + HEAD + length), start: cursor };
      at += HEAD + length;
      cursor += length;
    }
  }

  #knownSegment(start: number): Segment {
    const segment = { start, end: start, size: 0 };
    for (const { bytes } of this.#records(start)) {
      segment.end += bytes.length;
      segment.size += HEAD + bytes.length;
    }
    return segment;
  }

  #path(start: number): string {
    return join(this.#folder, `${String(start).padStart(16, '0')}.out`);
  }
}

/**
 * Sends output from a cursor on as server-sent events, until the ring is closed and read to its
 * end. Reads the ring in pieces, so that a slow reader takes no memory.
 * @param signal aborts once the reader is gone
 * @param last data of the final `exit` event, once the ring is closed
 */
export async function streamOutput(
  ring: OutputRing,
  response: ServerResponse,
  { since, follow }: { readonly since: number; readonly follow: boolean },
  signal: AbortSignal,
  last?: () => unknown,
): Promise<void> {
  const stream = new EventStream(response);
  let cursor = since;
  while (!signal.aborted) {
    const read = ring.read(cursor);
    if (read.cut > 0) stream.send('cut', JSON.stringify({ bytes: read.cut }), cursor + read.cut);
    for (const { kind, bytes, cursor: behind } of read.pieces) {
      stream.send(kind, kind === 'exit' ? bytes.toString() : bytes.toString('base64'), behind);
    }
    cursor = read.cursor;
    if (read.cut > 0 || read.pieces.length > 0) await stream.drained(signal);
    else if (ring.isClosed || !follow) break;
    else await once(ring.changes, 'change', { signal }).catch(() => {});
  }
  const exit = ring.isClosed ? last?.() : undefined;
  if (exit !== undefined) stream.send('exit', JSON.stringify(exit), cursor);
  stream.end();
}
