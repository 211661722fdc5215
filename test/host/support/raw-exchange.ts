import { connect } from 'node:net';

/** Timeout of a connection that should be answered and closed at once. */
const GIVE_UP_MS = 10_000;

/**
 * Sends raw bytes and reads until the other side closes the connection. Rejects if it does not.
 * @returns the received bytes, as Latin-1
 */
export function rawExchange(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    const said = () => Buffer.concat(chunks).toString('latin1');
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the connection stayed open; so far: ${said().slice(0, 300)}`));
    }, GIVE_UP_MS);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A reset after the response also counts as a close.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(said());
    });
    socket.write(bytes);
  });
}

/**
 * The first response: its status, its JSON body if it has one, and the total number of responses.
 */
export function firstAnswer(text: string): {
  status: number;
  body: Record<string, unknown>;
  answers: number;
} {
  const [head = '', rest = ''] = text.split('\r\n\r\n', 2);
  const body = rest.slice(0, Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0));
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? 0),
    body: body.startsWith('{') ? (JSON.parse(body) as Record<string, unknown>) : {},
    answers: text.split(/HTTP\/1\.1 \d{3} /).length - 1,
  };
}
