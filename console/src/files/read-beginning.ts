import { request } from '../api/client.ts';

export interface Beginning {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The content is longer. */
  readonly isCut: boolean;
}

/**
 * Fetches only the first bytes of an address.
 * @param most decides from the bytes so far how many are wanted
 * @throws ApiError; TypeError when the server cannot be reached
 */
export async function readBeginning(
  address: string,
  most: (head: Uint8Array) => number,
  signal?: AbortSignal,
): Promise<Beginning> {
  const response = await request(address, { cache: 'no-store', ...(signal === undefined ? {} : { signal }) });
  if (response.body === null) return { bytes: new Uint8Array(), isCut: false };
  const reader = response.body.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  let wanted = HEAD;
  let hasHead = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (value !== undefined) {
      parts.push(value);
      length += value.length;
    }
    if (!hasHead && (done || length >= HEAD)) {
      hasHead = true;
      wanted = most(joined(parts, length));
    }
    if (done) break;
    if (hasHead && length > wanted) {
      await reader.cancel();
      return { bytes: joined(parts, length).slice(0, wanted), isCut: true };
    }
  }
  return { bytes: joined(parts, length), isCut: false };
}

/** Enough to detect a file's type. */
const HEAD = 4_096;

function joined(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
