import { once } from 'node:events';

/** Writes. Resolves when the stream drains or closes. */
export async function write(stream: NodeJS.WriteStream, content: string | Uint8Array): Promise<void> {
  if (stream.write(content) || stream.destroyed) return;
  const end = new AbortController();
  await Promise.race(['drain', 'close'].map((event) => once(stream, event, { signal: end.signal }))).finally(
    () => end.abort(),
  );
}
