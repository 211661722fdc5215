import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP connection to a server on 127.0.0.1 that a test can cut at a chosen moment. */
export class CuttableLine {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #doom: { text: string | undefined };

  private constructor(
    server: Server,
    port: number,
    sockets: Set<Socket>,
    doom: { text: string | undefined },
  ) {
    this.#server = server;
    this.port = port;
    this.#sockets = sockets;
    this.#doom = doom;
  }

  static async to(target: number): Promise<CuttableLine> {
    const sockets = new Set<Socket>();
    const doom: { text: string | undefined } = { text: undefined };
    const server = createServer((near) => {
      const far = connect(target, '127.0.0.1');
      let doomed = false;
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          sockets.delete(socket);
          other.destroy();
        });
      }
      near.on('data', (bytes) => {
        if (doom.text !== undefined && bytes.includes(doom.text)) {
          doom.text = undefined;
          doomed = true;
        }
        far.write(bytes);
      });
      far.on('data', (bytes) => {
        // The server has done the work, and the answer is lost.
        if (doomed) near.destroy();
        else near.write(bytes);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return new CuttableLine(server, address.port, sockets, doom);
  }

  /** Breaks the next connection that sends `text` instead of answering. Once. */
  loseAnswerTo(text: string): void {
    this.#doom.text = text;
  }

  /** Whether the request with the lost answer has been sent. */
  get lost(): boolean {
    return this.#doom.text === undefined;
  }

  /** Breaks all connections. New ones are accepted. */
  async cut(): Promise<void> {
    await Promise.all(
      [...this.#sockets].map(async (socket) => {
        const closed = once(socket, 'close');
        socket.destroy();
        await closed;
      }),
    );
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
