import { request } from '../api/client.ts';

/** Enough to detect a file's type. */
const HEAD = 4_096;

/**
 * Fetches only the first bytes of an address. `isCut`: the content is longer.
 * @param most decides from the first bytes how many are wanted, if there are more
 * @throws ApiError; TypeError when the server cannot be reached
 */
export async function readBeginning(
  address: string,
  most: (head: Uint8Array) => number,
  signal: AbortSignal | null = null,
) {
  const response = await request(address, { cache: 'no-store', signal });
  const reader = response.body?.getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const joined = () => new Blob(parts).bytes();
  let length = 0;
  let wanted = Infinity;
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    parts.push(read.value);
    length += read.value.length;
    if (length >= HEAD && wanted === Infinity) wanted = most(await joined());
    if (length <= wanted) continue;
    await reader?.cancel();
    return { bytes: (await joined()).slice(0, wanted), isCut: true };
  }
  return { bytes: await joined(), isCut: false };
}
