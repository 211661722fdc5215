import { type IncomingMessage, request as httpRequest } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { checkPort } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#core/errors.ts';
import {
  ANSWER_WITHIN,
  type AnswerSchema,
  eventsAnswer,
  guestFailure,
  jsonAnswer,
  type ServerSentEvent,
  textAnswer,
} from '#core/processes/guest-answers.ts';
import type { ExecCommand, ExecProcess, GuestAnswer, GuestCall } from '#core/sandboxes/sandbox-provider.ts';
import { freeBuffer, freeSentPieces } from '#core/shared/free-buffer.ts';
import { guestHealth, type GuestHealth } from '#guest/protocol/answers.ts';
import { DIAL_UPGRADE, PROTOCOL_VERSION } from '#guest/protocol/http-protocol.ts';
import { connectToGuest, type GuestAddress, guestRefusal, upgradeConnection } from './guest-connection.ts';
import { startGuestCommand } from './guest-exec.ts';

export type { GuestAddress } from './guest-connection.ts';

export interface GuestRequest {
  /** Sent as JSON, or streamed where it is a stream. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long the guest may take until its answer begins, in ms. @default that of the address */
  readonly answerWithin?: number | undefined;
}

/**
 * Client for the guest of one sandbox. The guest is untrusted: its responses are bounded and
 * validated.
 */
export class GuestClient {
  readonly #address: GuestAddress;

  constructor(address: GuestAddress) {
    this.#address = address;
  }

  /** @see GuestCalls.exec for the contract */
  exec(command: ExecCommand, signal?: AbortSignal): Promise<ExecProcess> {
    return startGuestCommand(this.#address, command, signal);
  }

  /** @see GuestCalls.dial for the contract */
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

  /**
   * @throws PortholeError with the guest's refusal; `exec_transport_error` for an answer that does
   * not fit the schema
   */
  async json<T>(
    method: string,
    path: string,
    schema: AnswerSchema<T>,
    options: GuestRequest = {},
  ): Promise<T> {
    const { sandboxId, answerWithin } = this.#address;
    return jsonAnswer(await this.request(method, path, options), sandboxId, schema, answerWithin);
  }

  /** Server-sent events, until the guest or the signal ends them. */
  async *events(path: string, options: GuestRequest = {}): AsyncGenerator<ServerSentEvent> {
    const answer = await this.request('GET', path, options);
    yield* eventsAnswer(answer, this.#address.sandboxId, options.signal);
  }

  /** @see GuestCalls.callGuest for the contract */
  call({ method, path, ...rest }: GuestCall, signal?: AbortSignal): Promise<GuestAnswer> {
    return this.request(method, path, { ...rest, signal });
  }

  /**
   * One request; resolves when its answer begins. The caller reads the body to its end, or destroys
   * it.
   * @throws PortholeError with the guest's refusal (any status from 400 on), `exec_transport_error`
   */
  async request(method: string, path: string, options: GuestRequest = {}): Promise<IncomingMessage> {
    const response = await this.send(method, path, options);
    const { statusCode = 500 } = response;
    if (statusCode < 400) return response;
    const { sandboxId, answerWithin: within = ANSWER_WITHIN } = this.#address;
    const refusal = await textAnswer(response, sandboxId, { limit: MAX_REFUSAL, within });
    throw guestRefusal(sandboxId, statusCode, refusal);
  }

  /**
   * Like `request`, but returns a refusal like any other response. @throws PortholeError
   * `exec_transport_error`
   */
  async send(method: string, path: string, options: GuestRequest = {}): Promise<IncomingMessage> {
    const {
      body,
      headers = {},
      signal,
      answerWithin = this.#address.answerWithin ?? ANSWER_WITHIN,
    } = options;
    const { sandboxId } = this.#address;
    const { stream, headers: own } = await connectToGuest(this.#address, `${method} ${path}`, signal);
    const isStream = typeof (body as Readable | undefined)?.pipe === 'function';
    const text = body === undefined || isStream ? undefined : JSON.stringify(body);
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    // For a streamed body, the timeout starts at its end: its sender decides how long it takes.
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
            ...own,
            ...headers,
          },
        });
        outgoing.once('response', resolve).on('error', reject);
        // Listens after the parser, which copies what it passes on.
        outgoing.once('socket', () => stream.on('data', freeBuffer));
        if (isStream) {
          const source = body as Readable;
          source.once('end', expectAnswer);
          freeSentPieces(source, outgoing);
          source.on('error', (error) => outgoing.destroy(error)).pipe(outgoing);
        } else outgoing.end(text);
      });
      response.on('error', () => {});
      return response;
    } catch (error) {
      stream.destroy();
      signal?.throwIfAborted();
      if (late.signal.aborted) throw guestFailure(sandboxId, 'its guest does not answer', error);
      // The error of a streamed body belongs to its sender.
      if (error instanceof PortholeError) throw error;
      throw guestFailure(sandboxId, 'the connection to its guest was lost', error);
    } finally {
      clearTimeout(timer);
    }
  }
}

const MAX_REFUSAL = 64 * 1024;
