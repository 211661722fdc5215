import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { GuestClient } from '#adapters/guest/guest-client.ts';
import type { GuestAddress } from '#adapters/guest/guest-connection.ts';
import { type AnswerSchema, eventsAnswer, jsonAnswer } from '#core/processes/guest-answers.ts';
import type { GuestAnswer, GuestCall } from '#core/sandboxes/sandbox-provider.ts';
import type { ServerSentEvent } from '#base/server-sent-events.ts';

interface AskOptions extends Pick<GuestCall, 'body' | 'headers' | 'answerWithin'> {
  readonly signal?: AbortSignal | undefined;
}

/** A client with the answers that tests read. */
export class AskingClient extends GuestClient {
  readonly #connect: GuestAddress['connect'];

  constructor(address: GuestAddress) {
    super(address);
    this.#connect = address.connect;
  }

  request(method: string, path: string, { signal, ...rest }: AskOptions = {}): Promise<GuestAnswer> {
    return this.call({ method: method as GuestCall['method'], path, ...rest }, signal);
  }

  async json<T>(method: string, path: string, schema: AnswerSchema<T>, options: AskOptions = {}): Promise<T> {
    return jsonAnswer(await this.request(method, path, options), 'test', schema);
  }

  async *events(path: string, options: AskOptions = {}): AsyncGenerator<ServerSentEvent> {
    const answer = await this.request('GET', path, options);
    for await (const event of eventsAnswer(answer, 'test', options.signal)) if (event) yield event;
  }

  /** The guest's own error response. */
  async refusal(method: string, path: string, body?: unknown) {
    const { stream } = await this.#connect(`${method} ${path}`);
    const outgoing = request({ method, path, createConnection: () => stream, headers: { host: 'guest' } });
    outgoing.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const answer = JSON.parse(await text(response)) as Record<string, unknown>;
    return { status: response.statusCode, body: answer };
  }
}
