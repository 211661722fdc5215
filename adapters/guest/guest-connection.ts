/** Connections to a guest, and through it: an HTTP request that upgrades (RFC 9110 §7.8). */
import type { Duplex } from 'node:stream';
import { nothingListens } from '#adapters/sandboxes/sandbox-errors.ts';
import { type ErrorCode, PortholeError } from '#base/errors.ts';
import { ANSWER_WITHIN, guestFailure } from '#core/processes/guest-answers.ts';
import type { GuestConnection } from '#core/sandboxes/sandbox-provider.ts';
import { jsonOrUndefined } from '#base/reads.ts';
import { DIAL_UPGRADE } from '#protocol/guest/http-protocol.ts';
import { FILE_REFUSALS } from '#protocol/guest/files-protocol.ts';
import { guestErrorBody, refusalDetails } from '#protocol/guest/answers.ts';

/** Size limits of a response head and of a refusal's body, in bytes. */
const MAX_HEAD = 16 * 1024;
export const MAX_REFUSAL = 64 * 1024;

export interface GuestAddress {
  readonly sandboxId: string;
  /** @see SandboxProvider.connect */
  connect(operation: string, signal?: AbortSignal): Promise<GuestConnection>;
  /** In ms. @default ANSWER_WITHIN */
  readonly answerWithin?: number | undefined;
}

/**
 * Maps a guest's refusal to an error of the API. `body` is the whole response; file errors contain
 * the caller's paths.
 */
export function guestRefusal(sandboxId: string, status: number, body: string): PortholeError {
  const value = jsonOrUndefined(body);
  const parsed = guestErrorBody.safeParse(value);
  if (!parsed.success) return guestFailure(sandboxId, `its guest answered ${status}`);
  const { code, error } = parsed.data;
  const ofFiles = FILE_REFUSALS.find((refusal) => refusal === code);
  if (ofFiles !== undefined) return new PortholeError(ofFiles, error);
  const known = REFUSALS.get(code);
  if (known === undefined) return guestFailure(sandboxId, `its guest refused: ${error}`);
  // Only validated details: an API response must not repeat content invented by a hostile guest.
  const { success, data } = refusalDetails.safeParse(value);
  const { exit, existing } = success ? data : {};
  const details = { ...(exit !== undefined && { exit }), ...(existing !== undefined && { existing }) };
  return new PortholeError(known, `Sandbox ${sandboxId}: ${error}`, { details });
}

/** Refusals that the caller caused, with the API's error codes. */
const REFUSALS: ReadonlyMap<string, ErrorCode> = new Map([
  ['not_found', 'not_found'],
  ['payload_too_large', 'payload_too_large'],
  ['conflict', 'conflict'],
  ['process_exited', 'process_exited'],
  ['timed_out', 'wait_timed_out'],
  ['too_many', 'too_many_processes'],
]);

/** Connects. @throws PortholeError `exec_transport_error`, or the error of `connect` */
export async function connectToGuest(
  address: GuestAddress,
  operation: string,
  signal?: AbortSignal,
): Promise<GuestConnection> {
  signal?.throwIfAborted();
  try {
    const connection = await address.connect(operation, signal);
    connection.stream.on('error', () => {});
    return connection;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PortholeError) throw error;
    throw guestFailure(address.sandboxId, 'its guest does not listen', error);
  }
}

/**
 * Connects to a port of the sandbox by way of its guest. The stream is not flowing yet.
 * @throws PortholeError `nothing_listens`, with the guest's refusal, or `exec_transport_error`
 */
export async function dialGuest(address: GuestAddress, port: number, signal?: AbortSignal): Promise<Duplex> {
  const { sandboxId, answerWithin = ANSWER_WITHIN } = address;
  const path = `/v1/dial/${port}`;
  const { stream, headers = {} } = await connectToGuest(address, `GET ${path}`, signal);
  const lines = [`GET ${path} HTTP/1.1`, 'Host: guest', 'Connection: Upgrade', `Upgrade: ${DIAL_UPGRADE}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  return new Promise((resolve, reject) => {
    const answer = new AnswerHead();
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      stream.off('readable', look).off('close', lost).off('end', lost);
    };
    const fail = (error: unknown): void => {
      settle();
      stream.destroy();
      reject(error);
    };
    const abort = (): void => fail(signal?.reason);
    const lost = (): void => fail(guestFailure(sandboxId, 'its guest hung up'));
    // Sockets and HTTP/2 streams of Node call `read(0)` directly after their last 'readable'. If
    // nothing is left in them then, they emit 'end' before their next owner listens, and `unshift`
    // fails. So read in a microtask, in which the owner continues.
    const look = (): void => queueMicrotask(take);
    const take = (): void => {
      if (isSettled) return;
      // Only the buffered bytes: a read past the end would emit 'end' too.
      const chunk = stream.read(stream.readableLength) as Buffer | null;
      if (chunk === null) return;
      try {
        answer.add(chunk);
      } catch (error) {
        return fail(guestFailure(sandboxId, 'its guest violates the protocol', error));
      }
      if (answer.status === undefined) return;
      if (answer.status === 101) {
        settle();
        if (answer.rest.length > 0) stream.unshift(answer.rest);
        resolve(stream);
      } else if (answer.isComplete) {
        const refused = guestRefusal(sandboxId, answer.status, answer.rest.toString());
        fail(answer.status === 502 ? nothingListens(sandboxId, port) : refused);
      }
    };
    const timer = setTimeout(() => fail(guestFailure(sandboxId, 'its guest does not answer')), answerWithin);
    // Do not use 'data': a paused stream stays paused when its next owner listens for data.
    stream.on('close', lost).on('end', lost).on('readable', look);
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort);
    stream.write(`${lines.join('\r\n')}\r\n\r\n`);
  });
}

/** Collects the head of an HTTP answer, and the body of one that is not 101. */
class AnswerHead {
  /** Undefined until the whole head is there. */
  status: number | undefined;
  rest: Buffer = Buffer.alloc(0);
  #bodyLength = 0;

  /** @throws Error where it is not HTTP/1.1 or is too long */
  add(chunk: Buffer): void {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    if (this.status === undefined) {
      const start = this.rest.subarray(0, 9).toString('latin1');
      if (!'HTTP/1.1 '.startsWith(start)) throw new Error('no HTTP/1.1 answer');
      const end = this.rest.indexOf('\r\n\r\n');
      if (end < 0 || end > MAX_HEAD) {
        if (this.rest.length > MAX_HEAD) throw new Error('the head of the answer is too long');
        return;
      }
      const head = this.rest.subarray(0, end).toString('latin1');
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1];
      if (status === undefined) throw new Error('no status');
      this.status = Number(status);
      this.#bodyLength = Number(/^content-length: *(\d{1,9})$/im.exec(head)?.[1] ?? 0);
      this.rest = this.rest.subarray(end + 4);
      if (this.status !== 101 && this.#bodyLength > MAX_REFUSAL) throw new Error('a refusal is too long');
    }
  }

  get isComplete(): boolean {
    return this.rest.length >= this.#bodyLength;
  }
}
