import { once } from 'node:events';
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

/** One request, with a target sent byte for byte (Latin-1), which no HTTP client would send. */
export async function rawRequest(
  { port, key }: { readonly port: number; readonly key: string },
  method: string,
  target: string,
  body = '',
): Promise<RawAnswer> {
  const socket = connect({ host: '127.0.0.1', port });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A refusal may come before the request has been sent in full.
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  const head = `${method} ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(Buffer.from(head + body, 'latin1'));
  await closed;
  const text = Buffer.concat(chunks).toString('latin1');
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? 0), text };
}

/** Runs all of it, with this many in parallel, in the order of the list. */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T, at: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const at = next++;
      await work(items[at] as T, at);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
