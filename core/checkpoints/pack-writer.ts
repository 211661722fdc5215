import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import type { Block, Manifest } from './manifest.ts';

/**
 * Bytes of a block. Files that grow or change in place, as logs and databases do, share their other
 * blocks with the checkpoint before.
 */
export const BLOCK_BYTES = 262_144;

/** Blocks by their hash. */
export function blocksOf(...manifests: readonly Manifest[]): Map<string, Block> {
  const blocks = new Map<string, Block>();
  for (const manifest of manifests) {
    for (const entry of manifest.values()) for (const block of entry.blocks) blocks.set(block.hash, block);
  }
  return blocks;
}

interface PackOptions {
  /** Of the checkpoint. */
  readonly id: string;
  /** Blocks that are stored, by hash. */
  readonly known: Map<string, Block>;
  /** Stores the pack; called with the first new block. */
  readonly put: (content: Readable) => Promise<void>;
  /** Called with the size of the pack before it grows to it; may throw. */
  readonly grows: (size: number) => void;
}

/** Cuts contents into blocks, and appends new ones to a pack. Holds one block in memory. */
export class PackWriter {
  readonly #options: PackOptions;
  readonly #out = new PassThrough({ highWaterMark: 4 * BLOCK_BYTES });
  #stored: Promise<void> | undefined;
  #size = 0;
  #pieces: Buffer[] = [];
  #held = 0;
  #hash: Hash | undefined;
  #blocks: Block[] = [];

  constructor(options: PackOptions) {
    this.#options = options;
    // The failure is that of `put`.
    this.#out.on('error', () => undefined);
  }

  /** Bytes of the pack so far. */
  get size(): number {
    return this.#size;
  }

  /** @param bytes of the current file; copied */
  async write(bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length; ) {
      const piece = bytes.subarray(from, from + BLOCK_BYTES - this.#held);
      from += piece.length;
      this.#held += piece.length;
      this.#pieces.push(Buffer.from(piece));
      this.#hash ??= createHash('sha256');
      this.#hash.update(piece);
      if (this.#held === BLOCK_BYTES) await this.#endBlock();
    }
  }

  /** The blocks of the current file. */
  async endFile(): Promise<readonly Block[]> {
    if (this.#held > 0) await this.#endBlock();
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }

  /** Resolves once the pack is stored; at once if nothing was new. */
  async end(): Promise<void> {
    this.#out.end();
    await this.#stored;
  }

  /** Resolves once nothing is stored any more. */
  async abort(cause: Error): Promise<void> {
    this.#out.destroy(cause);
    if (this.#stored !== undefined) await Promise.allSettled([this.#stored]);
  }

  async #endBlock(): Promise<void> {
    const { id, known, put, grows } = this.#options;
    const hash = (this.#hash as Hash).digest('base64url');
    const [pieces, length] = [this.#pieces, this.#held];
    this.#hash = undefined;
    this.#pieces = [];
    this.#held = 0;
    const stored = known.get(hash);
    if (stored !== undefined) {
      this.#blocks.push(stored);
      return;
    }
    grows(this.#size + length);
    const block = { hash, pack: id, at: this.#size, length };
    known.set(hash, block);
    this.#blocks.push(block);
    this.#size += length;
    if (this.#stored === undefined) {
      this.#stored = put(this.#out);
      this.#stored.catch((error: Error) => this.#out.destroy(error));
    }
    if (!this.#out.write(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))) await this.#drained();
  }

  /** Rejects as `put` does: then nothing reads the rest. */
  async #drained(): Promise<void> {
    const over = new AbortController();
    const { signal } = over;
    try {
      await Promise.race([once(this.#out, 'drain', { signal }), once(this.#out, 'close', { signal })]);
    } finally {
      over.abort();
    }
    if (this.#out.destroyed) await this.#stored;
  }
}
