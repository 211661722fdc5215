/** What the recipes share: a server that gets the events of a webhook, and a client of Porthole. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

export interface Event {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly data: { readonly details: Readonly<Record<string, string | number | boolean | null>> };
}

type Handler = (body: string, request: IncomingMessage) => Promise<void>;

/** A handler of events that have a valid signature of `WEBHOOK_SECRET`. */
export function onEvent(handle: (event: Event) => Promise<void>): Handler {
  const webhook = new Webhook(setting('WEBHOOK_SECRET'));
  const seen = new Set<string>();
  return async (body, { headers }) => {
    const event = webhook.verify(body, headers as Record<string, string>) as Event;
    if (seen.has(event.id)) return;
    await handle(event);
    seen.add(event.id);
  };
}

/** Listens on `PORT`. A handler that fails answers 400: then Porthole tries again. */
export function serve(handlers: Readonly<Record<string, Handler>>): void {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      await handlers[request.url ?? '']?.(await text(request), request);
      response.writeHead(204).end();
    } catch (error) {
      process.stderr.write(`${(error as Error).message}\n`);
      response.writeHead(400).end();
    }
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(Number(setting('PORT')), () => process.stdout.write('Listening\n'));
}

export async function send(url: string, body: object, token?: string): Promise<void> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${new URL(url).host} answered ${answer.status}: ${await answer.text()}`);
}

export async function readPorthole<T>(path: string): Promise<T> {
  const headers = { authorization: `Bearer ${setting('PORTHOLE_API_KEY')}` };
  const answer = await fetch(new URL(path, setting('PORTHOLE_URL')), { headers });
  if (!answer.ok) throw new Error(`Porthole answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`Set ${name}.`);
  return value;
}
