import { connect } from 'node:net';

/** How long a connection may take that should have been answered and ended at once. */
const GIVE_UP_MS = 10_000;

/**
 * Sends bytes as they are and reads until the other side ends the connection. Rejects when it does
 * not.
 * @returns what came back, as Latin-1
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
    // A reset after the answer is an end, too.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(said());
    });
    socket.write(bytes);
  });
}

/**
 * The first answer: its status, the JSON of its body where it is some, and how many answers there
 * are in all.
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
