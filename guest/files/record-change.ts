import { isUtf8 } from 'node:buffer';
import { readPlain } from '../plain-file.ts';
import type { KeptDetail } from '../../protocol/guest/details-protocol.ts';
import { MAX_CHANGED_FILE_BYTES } from '../../protocol/guest/details-protocol.ts';
import { at } from './at-calls.ts';
import { direct } from './descriptors.ts';
import type { Place } from './workspace.ts';

/** Records what a file contains before and after it is written. Never fails the write. */
export class ChangeRecorder {
  #after: Buffer[] | undefined = [];
  #length = 0;
  #detail: KeptDetail | undefined;

  add(chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > MAX_CHANGED_FILE_BYTES) this.#after = undefined;
    this.#after?.push(Buffer.from(chunk));
  }

  /**
   * Reads the old file; the new one is complete and replaces it next. Both are small, or nothing is
   * read, so that a large upload does not wait. Nothing is kept of a mounted bucket, which is slow.
   */
  beforeReplace({ directory, name, stat, calls }: Place): void {
    if (calls !== direct) return;
    const tooLarge = this.#after === undefined || (stat?.size ?? 0) > MAX_CHANGED_FILE_BYTES;
    if (tooLarge) {
      this.#detail = { omitted: 'too_large' };
      return;
    }
    try {
      const before =
        stat === undefined ? null : textOf(readPlain(at(directory, name), MAX_CHANGED_FILE_BYTES));
      const after = textOf(Buffer.concat(this.#after ?? []));
      this.#detail =
        before === undefined || after === undefined ? { omitted: 'not_text' } : { change: { before, after } };
    } catch {
      // The file is gone, or is not a regular one.
    }
  }

  get detail(): KeptDetail | undefined {
    return this.#detail;
  }
}

/** Undefined for what is not UTF-8 text. */
function textOf(bytes: Buffer): string | undefined {
  return !bytes.includes(0) && isUtf8(bytes) ? bytes.toString() : undefined;
}
