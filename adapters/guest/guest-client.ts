import { type IncomingMessage, request as httpRequest } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { checkPort } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#core/errors.ts';
import type { ExecCommand, ExecProcess, GuestAnswer, GuestCall } from '#core/ports/sandbox-provider.ts';
import {
  DIAL_UPGRADE,
  guestHealth,
  type GuestHealth,
  MAX_JSON,
  PROTOCOL_VERSION,
} from '#guest/protocol/http.ts';
import {
  ANSWER_WITHIN,
  connectToGuest,
  type GuestAddress,
  guestFailure,
  guestRefusal,
  upgradeConnection,
} from './guest-connection.ts';
import { startGuestCommand } from './guest-exec.ts';
import { readEvents, type ServerSentEvent } from './server-sent-events.ts';

export type { GuestAddress } from './guest-connection.ts';

/** Validates what a guest says: any schema of `guest/protocol`. */
interface Schema<T> {
  parse(value: unknown): T;
}

export interface GuestRequest {
  /** Sent as JSON, or streamed where it is a stream. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long the guest may take until its answer begins, in ms. @default that of the address */
  readonly answerWithin?: number | undefined;
  /** Whether it works on files: a refusal speaks to their user then. @default false */
  readonly isAboutFiles?: boolean;
}

/** Talks to the guest of one sandbox. Nothing that the guest says is trusted: answers are bounded and validated. */
export class GuestClient {
  readonly #address: GuestAddress;

  constructor(address: GuestAddress) {
    this.#address = address;
  }

  /** @see SandboxProvider.exec for what it promises */
  exec(command: ExecCommand, signal?: AbortSignal): Promise<ExecProcess> {
    return startGuestCommand(this.#address, command, signal);
  }

  /** @see SandboxProvider.dial for what it promises */
  async dial(port: number, signal?: AbortSignal): Promise<Duplex> {
    checkPort(port);
    const { stream, rest } = await upgradeConnection(
      this.#address,
      { path: `/v1/dial/${port}`, headers: [`Upgrade: ${DIAL_UPGRADE}`], port },
      signal,
    );
    if (rest.length > 0) stream.unshift(rest);
    return stream;
  }

  /** @throws PortholeError `exec_transport_error` also for a guest of another version */
  async health(signal?: AbortSignal): Promise<GuestHealth> {
    const health = await this.json('GET', '/v1/health', guestHealth, { signal });
    if (health.protocol === PROTOCOL_VERSION) return health;
    throw guestFailure(
      this.#address.sandboxId,
      `its guest speaks version ${health.protocol} of the protocol, this Porthole ${PROTOCOL_VERSION}`,
    );
  }

  /** @throws PortholeError as the guest refuses; `exec_transport_error` for an answer that does not fit the schema */
  async json<T>(method: string, path: string, schema: Schema<T>, options: GuestRequest = {}): Promise<T> {
    return (await this.call(method, path, schema, options)).value;
  }

  /** The same with the status. An answer without a body is `undefined` to the schema. */
  async call<T>(
    method: string,
    path: string,
    schema: Schema<T>,
    options: GuestRequest = {},
  ): Promise<{ readonly status: number; readonly value: T }> {
    const response = await this.request(method, path, options);
    const text = await this.#readAll(response, MAX_JSON);
    try {
      const value = schema.parse(text === '' ? undefined : JSON.parse(text));
      return { status: response.statusCode ?? 500, value };
    } catch (error) {
      throw guestFailure(this.#address.sandboxId, 'its guest breaks the protocol', error);
    }
  }

  /** Server-sent events, until the guest or the signal ends them. */
  async *events(path: string, options: GuestRequest = {}): AsyncGenerator<ServerSentEvent> {
    const response = await this.request('GET', path, options);
    try {
      yield* readEvents(response);
      if (!response.complete) throw new Error('the stream was cut');
    } catch (error) {
      options.signal?.throwIfAborted();
      throw guestFailure(this.#address.sandboxId, 'the connection to its guest was lost', error);
    } finally {
      response.destroy();
    }
  }

  /** @see SandboxProvider.callGuest for what it promises */
  call({ method, path, ...rest }: GuestCall, signal?: AbortSignal): Promise<GuestAnswer> {
    return this.request(method, path, { ...rest, signal, isAboutFiles: true });
  }

  /**
   * One request; resolves when its answer begins. The caller reads the body to its end, or destroys it.
   * @throws PortholeError as the guest refuses (any status from 400 on), `exec_transport_error`
   */
  async request(method: string, path: string, options: GuestRequest = {}): Promise<IncomingMessage> {
    const response = await this.send(method, path, options);
    const { statusCode = 500 } = response;
    if (statusCode < 400) return response;
    const refusal = await this.#readAll(response, MAX_REFUSAL);
    throw guestRefusal(this.#address.sandboxId, statusCode, refusal, options.isAboutFiles);
  }

  /** Like `request`, and hands a refusal over as any other answer. @throws PortholeError `exec_transport_error` */
  async send(method: string, path: string, options: GuestRequest = {}): Promise<IncomingMessage> {
    const {
      body,
      headers = {},
      signal,
      answerWithin = this.#address.answerWithin ?? ANSWER_WITHIN,
    } = options;
    const { sandboxId } = this.#address;
    signal?.throwIfAborted();
    const authorization = await this.#address.authorization?.(`${method} ${path}`);
    const stream = await connectToGuest(this.#address, signal);
    const isStream = typeof (body as Readable | undefined)?.pipe === 'function';
    const text = body === undefined || isStream ? undefined : JSON.stringify(body);
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    // Of a body that is streamed, its sender decides how long it takes.
    const expectAnswer = () => (timer = setTimeout(() => late.abort(), answerWithin));
    if (!isStream) expectAnswer();
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const outgoing = httpRequest({
          method,
          path,
          createConnection: () => stream,
          signal: AbortSignal.any([late.signal, ...(signal === undefined ? [] : [signal])]),
          headers: {
            host: 'guest',
            connection: 'close',
            ...(text === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
            ...(authorization === undefined ? {} : { authorization }),
            ...headers,
          },
        });
        outgoing.once('response', resolve).on('error', reject);
        if (isStream) {
          const source = body as Readable;
          source.once('end', expectAnswer);
          source.on('error', (error) => outgoing.destroy(error)).pipe(outgoing);
        } else outgoing.end(text);
      });
      response.on('error', () => {});
      return response;
    } catch (error) {
      stream.destroy();
      signal?.throwIfAborted();
      if (late.signal.aborted) throw guestFailure(sandboxId, 'its guest does not answer', error);
      // What a streamed body fails with is its sender's own.
      if (error instanceof PortholeError) throw error;
      throw guestFailure(sandboxId, 'the connection to its guest was lost', error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #readAll(response: IncomingMessage, limit: number): Promise<string> {
    const { sandboxId, answerWithin = ANSWER_WITHIN } = this.#address;
    const chunks: Buffer[] = [];
    let length = 0;
    const timer = setTimeout(() => response.destroy(new Error('too slow')), answerWithin);
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > limit) throw new Error(`an answer of over ${limit} bytes`);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks).toString();
    } catch (error) {
      throw guestFailure(sandboxId, 'the answer of its guest was cut', error);
    } finally {
      clearTimeout(timer);
    }
  }
}

const MAX_REFUSAL = 64 * 1024;
