import type { KeptDetail, KeptOutput } from '../protocol/guest/details-protocol.ts';
import { OUTPUT_KEPT } from '../protocol/guest/http-protocol.ts';
import { GuestError, type Handler, type Routes, sendJson } from './router.ts';

/** Characters of all details together; the oldest are dropped first. */
const MAX_KEPT_CHARS = 4 * 1024 * 1024;
/** A small detail needs memory, too. */
const MAX_DETAILS = 1_000;

/**
 * Details of recent operations, by the id that the host has chosen. In memory: code in the sandbox
 * cannot change them, and they end with the guest.
 */
export class KeptDetails {
  readonly #kept = new Map<string, KeptDetail>();
  #size = 0;

  keep(id: string, detail: KeptDetail): void {
    this.#remove(id);
    this.#kept.set(id, detail);
    this.#size += sizeOf(detail);
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= MAX_KEPT_CHARS && this.#kept.size <= MAX_DETAILS) return;
      this.#remove(oldest);
    }
  }

  get(id: string): KeptDetail | undefined {
    return this.#kept.get(id);
  }

  #remove(id: string): void {
    const detail = this.#kept.get(id);
    if (detail === undefined) return;
    this.#kept.delete(id);
    this.#size -= sizeOf(detail);
  }
}

function sizeOf(detail: KeptDetail): number {
  if ('output' in detail) return detail.output.first.length + detail.output.last.length;
  if ('change' in detail) return (detail.change.before?.length ?? 0) + detail.change.after.length;
  return 0;
}

/** The beginning and the end of an output of any length, in bounded memory. */
export class OutputExcerpt {
  readonly #first: Buffer[] = [];
  #firstLength = 0;
  /** A ring: the last bytes end at `#at`. */
  #ring: Buffer | undefined;
  #at = 0;
  #ofRing = 0;

  /** Copies: the buffer of the bytes is reused. */
  add(bytes: Buffer): void {
    const room = OUTPUT_KEPT.first - this.#firstLength;
    if (room > 0) {
      const part = Buffer.from(bytes.subarray(0, room));
      this.#first.push(part);
      this.#firstLength += part.length;
    }
    const rest = bytes.subarray(Math.max(room, 0));
    if (rest.length === 0) return;
    this.#ofRing += rest.length;
    const { last } = OUTPUT_KEPT;
    this.#ring ??= Buffer.allocUnsafe(last);
    const end = rest.subarray(-last);
    const upToWrap = end.subarray(0, last - this.#at);
    upToWrap.copy(this.#ring, this.#at);
    end.copy(this.#ring, 0, upToWrap.length);
    this.#at = (this.#at + end.length) % last;
  }

  get output(): KeptOutput {
    const { last } = OUTPUT_KEPT;
    const first = Buffer.concat(this.#first);
    const ring = this.#ring ?? Buffer.alloc(0);
    if (this.#ofRing <= last) {
      const whole = Buffer.concat([first, ring.subarray(0, this.#ofRing)]);
      return { first: whole.toString(), last: '', omitted_bytes: 0 };
    }
    const tail = Buffer.concat([ring.subarray(this.#at), ring.subarray(0, this.#at)]);
    // A character that a bound cuts in two is left out.
    const from = tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
    return {
      first: new TextDecoder('utf-8', { ignoreBOM: true }).decode(first, { stream: true }),
      last: tail.subarray(Math.max(from, 0)).toString(),
      omitted_bytes: this.#ofRing - last,
    };
  }
}

export function detailRoutes(details: KeptDetails): Routes<Handler> {
  return {
    'GET /v1/details/{id}': (_request, response, { params: { id = '' } }) => {
      const detail = details.get(id);
      if (detail === undefined) throw new GuestError('not_found', 'Nothing is kept under this id.');
      sendJson(response, 200, detail);
    },
  };
}
