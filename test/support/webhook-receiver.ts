import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CloudEvent } from '#protocol/cloud-event.ts';

export interface ReceivedMessage {
  readonly at: number;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly event: CloudEvent;
}

type Answer = (response: ServerResponse, message: ReceivedMessage) => void;

export interface WebhookReceiver {
  readonly port: number;
  readonly url: string;
  readonly received: readonly ReceivedMessage[];
  /** Changes how it answers. @default 204 */
  answer(next: Answer): void;
  /** The messages, once there are `count` that match. */
  until(count: number, matches?: (message: ReceivedMessage) => boolean): Promise<readonly ReceivedMessage[]>;
  close(): Promise<void>;
}

/** A receiver of webhooks on loopback. */
export async function startWebhookReceiver(host = '127.0.0.1'): Promise<WebhookReceiver> {
  const received: ReceivedMessage[] = [];
  const waiting = new Set<() => void>();
  let answer: Answer = (response) => response.writeHead(204).end();
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const piece of request) body += piece as string;
    const message: ReceivedMessage = {
      at: Date.now(),
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      body,
      event: JSON.parse(body) as CloudEvent,
    };
    received.push(message);
    answer(response, message);
    for (const check of waiting) check();
  };
  const server = createServer((request, response) => {
    // A sender that is killed cuts its request off.
    receive(request, response).catch(() => response.destroy());
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://${host}:${port}/hook`,
    received,
    answer: (next) => void (answer = next),
    until: (count, matches = () => true) =>
      new Promise((resolve) => {
        const check = (): void => {
          const found = received.filter(matches);
          if (found.length < count) return;
          waiting.delete(check);
          resolve(found);
        };
        waiting.add(check);
        check();
      }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
