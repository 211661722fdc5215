import { once } from 'node:events';

/** Writes, and resolves once there is room for more, or nobody reads it any more. */
export async function write(stream: NodeJS.WriteStream, content: string | Uint8Array): Promise<void> {
  if (stream.write(content) || stream.destroyed) return;
  const end = new AbortController();
  await Promise.race(['drain', 'close'].map((event) => once(stream, event, { signal: end.signal }))).finally(
    () => end.abort(),
  );
}
