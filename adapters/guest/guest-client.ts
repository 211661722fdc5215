import { type IncomingMessage, request as httpRequest } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { checkPort } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#base/errors.ts';
import {
  ANSWER_WITHIN,
  guestFailure,
  jsonAnswer,
  textAnswer,
  turnsOf,
} from '#core/processes/guest-answers.ts';
import type {
  ExecCommand,
  ExecProcess,
  GuestAnswer,
  GuestCall,
  GuestConnection,
} from '#core/sandboxes/sandbox-provider.ts';
import { anySignal } from '#base/concurrency.ts';
import { freeBuffer, freeSentPieces } from '#base/free-buffer.ts';
import { guestHealth, type GuestHealth } from '#protocol/guest/answers.ts';
import { PROTOCOL_VERSION } from '#protocol/guest/http-protocol.ts';
import {
  connectToGuest,
  dialGuest,
  type GuestAddress,
  guestRefusal,
  MAX_REFUSAL,
} from './guest-connection.ts';
import { startGuestCommand } from './guest-exec.ts';
import { readInTurns } from './read-in-turns.ts';

/** Interim responses (1xx, RFC 9110 section 15.2) of one request: the guest sends at most one. */
const MAX_INTERIM = 4;

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
    return dialGuest(this.#address, port, signal);
  }

  /** @throws PortholeError `exec_transport_error` also for a guest of another version */
  async health(signal?: AbortSignal): Promise<GuestHealth> {
    const { sandboxId, answerWithin } = this.#address;
    const answer = await this.call({ method: 'GET', path: '/v1/health' }, signal);
    const health = await jsonAnswer(answer, sandboxId, guestHealth, answerWithin);
    if (health.protocol === PROTOCOL_VERSION) return health;
    throw guestFailure(
      sandboxId,
      `its guest speaks version ${health.protocol} of the protocol, this Porthole ${PROTOCOL_VERSION}`,
    );
  }

  /** @see GuestCalls.callGuest for the contract */
  async call(call: GuestCall, signal?: AbortSignal): Promise<GuestAnswer> {
    const answer = await this.#send(call, signal);
    const { statusCode = 500 } = answer;
    if (statusCode < 400) return answer;
    const { sandboxId, answerWithin: within = ANSWER_WITHIN } = this.#address;
    const refusal = await textAnswer(answer, sandboxId, { limit: MAX_REFUSAL, within });
    throw guestRefusal(sandboxId, statusCode, refusal);
  }

  async #connect({ method, path, port }: GuestCall, signal?: AbortSignal): Promise<GuestConnection> {
    if (port === undefined) return connectToGuest(this.#address, `${method} ${path}`, signal);
    return { stream: await this.dial(port, signal) };
  }

  async #send(call: GuestCall, signal?: AbortSignal): Promise<IncomingMessage> {
    const { method, path, body, headers = {} } = call;
    const { sandboxId, answerWithin = ANSWER_WITHIN } = this.#address;
    const pause = turnsOf(sandboxId);
    const turn = pause();
    if (turn !== undefined) await turn;
    const { stream, headers: own } = await this.#connect(call, signal);
    const isStream = typeof (body as Readable | undefined)?.pipe === 'function';
    const text = body === undefined || isStream ? undefined : JSON.stringify(body);
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    // For a streamed body, the timeout starts at its end: its sender decides how long it takes.
    const expectAnswer = () => (timer = setTimeout(() => late.abort(), call.answerWithin ?? answerWithin));
    if (!isStream) expectAnswer();
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const outgoing = httpRequest({
          method,
          path,
          createConnection: () => stream,
          signal: anySignal(late.signal, signal),
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
        outgoing.once('socket', () => {
          stream.on('data', freeBuffer);
          readInTurns(stream, pause);
        });
        let interim = 0;
        outgoing.on('information', () => {
          interim += 1;
          if (interim > MAX_INTERIM) outgoing.destroy(new Error('too many interim responses'));
        });
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
