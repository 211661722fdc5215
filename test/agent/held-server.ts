import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server with responses that the test controls. */
export interface HeldServer {
  readonly url: string;
  readonly port: number;
  /** Requests so far: method, path, body, credential. */
  readonly asked: {
    readonly line: string;
    readonly body: string;
    readonly authorization: string | undefined;
  }[];
  /** Number of unanswered requests. */
  open(): number;
  /**
   * Whether, between the first request and the last response, there was a moment without an open
   * request.
   */
  wasLeft(): boolean;
  end(): Promise<void>;
}

/** Listens on a free port of loopback, or on the given one. */
export async function heldServer(
  answer: (req: IncomingMessage, res: ServerResponse, body: string) => void,
  port = 0,
): Promise<HeldServer> {
  const asked: HeldServer['asked'] = [];
  let open = 0;
  let left = false;
  const server = createServer((req, res) => {
    open += 1;
    res.once('close', () => {
      open -= 1;
      if (open === 0 && !res.writableFinished) left = true;
    });
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString()));
    req.once('end', () => {
      asked.push({ line: `${req.method} ${req.url}`, body, authorization: req.headers.authorization });
      answer(req, res, body);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const actual = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${actual}`,
    port: actual,
    asked,
    open: () => open,
    wasLeft: () => left,
    async end() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function answerJson(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(value));
}
