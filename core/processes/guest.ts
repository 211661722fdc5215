import type { GuestCall, Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { ServerSentEvent } from '#base/server-sent-events.ts';
import { serverList, type ServerInfo } from '#protocol/guest/servers-protocol.ts';
import { type AnswerSchema, eventData, eventsAnswer, jsonAnswer } from './guest-answers.ts';

/**
 * Where processes in a sandbox call Porthole: a socket in its file system, or a URL. It serves only
 * the agent routes of the sandbox's own runs, to their own tokens.
 */
export type ChannelAddress =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string };

/** The channel from sandboxes to Porthole. */
export interface Channel {
  /** Undefined if the sandbox has no channel. */
  address(sandboxId: string): Promise<ChannelAddress | undefined>;
}

export interface GuestCallOptions extends Pick<GuestCall, 'body' | 'answerWithin'> {
  readonly signal?: AbortSignal | undefined;
}

/**
 * The guest program inside one sandbox. It is not trusted: responses are bounded in size and time,
 * and validated with the schema.
 * @throws PortholeError as `Sandboxes.callGuest` does, and `exec_transport_error` for an
 * answer that breaks the protocol
 */
export class Guest {
  readonly #provider: Pick<Sandboxes, 'callGuest'>;
  readonly #sandboxId: string;

  constructor(sandboxes: Pick<Sandboxes, 'callGuest'>, sandboxId: string) {
    this.#provider = sandboxes;
    this.#sandboxId = sandboxId;
  }

  /** An answer without a body is `undefined` to the schema. */
  async call<T>(
    method: GuestCall['method'],
    path: string,
    schema: AnswerSchema<T>,
    { signal, ...rest }: GuestCallOptions = {},
  ): Promise<{ readonly status: number; readonly value: T }> {
    const answer = await this.#provider.callGuest(this.#sandboxId, { method, path, ...rest }, signal);
    const value = await jsonAnswer(answer, this.#sandboxId, schema);
    return { status: answer.statusCode ?? 500, value };
  }

  /** The servers that are declared in it. */
  async servers(signal?: AbortSignal): Promise<readonly ServerInfo[]> {
    return (await this.call('GET', '/v1/servers', serverList, { signal })).value.servers;
  }

  /**
   * Server-sent events, until the guest or the signal ends them; rejects when the connection is
   * lost.
   */
  async *events(path: string, signal?: AbortSignal): AsyncGenerator<ServerSentEvent> {
    for await (const event of this.stream(path, signal)) if (event !== undefined) yield event;
  }

  /** The same with undefined for each heartbeat of the guest, every 10 seconds of silence. */
  async *stream(path: string, signal?: AbortSignal): AsyncGenerator<ServerSentEvent | undefined> {
    const answer = await this.#provider.callGuest(this.#sandboxId, { method: 'GET', path }, signal);
    yield* eventsAnswer(answer, this.#sandboxId, signal);
  }

  /** What an event holds. */
  data<T>(event: ServerSentEvent, schema: AnswerSchema<T>): Promise<T> {
    return eventData(event, this.#sandboxId, schema);
  }
}

/** Schema of a response without a body. */
export const NOTHING: AnswerSchema<undefined> = { parse: () => undefined };

export interface Guests {
  /** Does not connect yet. */
  of(sandboxId: string): Guest;
}

/** For a provider that neither resumes nor counts calls as use: the caller decides both. */
export function guestsOf(sandboxes: Pick<Sandboxes, 'callGuest'>): Guests {
  return {
    of: (sandboxId) => new Guest(sandboxes, sandboxId),
  };
}
