/** Connections to a guest, and through it: an HTTP request that upgrades (RFC 9110 §7.8). */
import type { Duplex } from 'node:stream';
import { nothingListens } from '#adapters/sandboxes/sandbox-errors.ts';
import { type ErrorCode, PortholeError } from '#base/errors.ts';
import { ANSWER_WITHIN, guestFailure } from '#core/processes/guest-answers.ts';
import type { GuestConnection } from '#core/sandboxes/sandbox-provider.ts';
import { jsonOrUndefined } from '#base/reads.ts';
import { DIAL_UPGRADE } from '#protocol/guest/http-protocol.ts';
import { FILE_REFUSALS } from '#protocol/guest/files-protocol.ts';
import { RESPONSE_FAULTS } from '#proxy/upstream/response-head.ts';
import { type ResponseEvents, ResponseParser } from '#proxy/upstream/response-parser.ts';
import { guestErrorBody, refusalDetails } from '#protocol/guest/answers.ts';

/** Largest body of a refusal, in bytes. */
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
    const parser = new ResponseParser();
    const refusal: Buffer[] = [];
    let refusalBytes = 0;
    let status = 0;
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
      parser.reset();
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      stream.off('readable', look).off('close', lost).off('end', lost);
    };
    const fail = (error: unknown): void => {
      settle();
      stream.destroy();
      reject(error);
    };
    const violates = (what: string): void =>
      fail(guestFailure(sandboxId, 'its guest violates the protocol', new Error(what)));
    const abort = (): void => fail(signal?.reason);
    const lost = (): void =>
      status === 0 ? fail(guestFailure(sandboxId, 'its guest hung up')) : parser.finish();
    // Sockets and HTTP/2 streams of Node call `read(0)` directly after their last 'readable'. If
    // nothing is left in them then, they emit 'end' before their next owner listens, and `unshift`
    // fails. So read in a microtask, in which the owner continues.
    const look = (): void => queueMicrotask(take);
    const take = (): void => {
      if (isSettled) return;
      // Only the buffered bytes: a read past the end would emit 'end' too.
      const chunk = stream.read(stream.readableLength) as Buffer | null;
      if (chunk !== null) parser.push(chunk);
    };
    const timer = setTimeout(() => fail(guestFailure(sandboxId, 'its guest does not answer')), answerWithin);
    const events: ResponseEvents = {
      informational: () => {},
      head: (head) => {
        status = head.status;
        if ((head.contentLength ?? 0) > MAX_REFUSAL) violates('a refusal is too long');
      },
      body: (part) => {
        refusal.push(part);
        refusalBytes += part.length;
        if (refusalBytes > MAX_REFUSAL) violates('a refusal is too long');
      },
      end: (last = Buffer.alloc(0)) => {
        const body = Buffer.concat([...refusal, last]).toString();
        fail(status === 502 ? nothingListens(sandboxId, port) : guestRefusal(sandboxId, status, body));
      },
      upgraded: (_head, rest) => {
        settle();
        if (rest.length > 0) stream.unshift(rest);
        resolve(stream);
      },
      fault: (fault) => violates(RESPONSE_FAULTS[fault]),
    };
    parser.expect('GET', events, true);
    // Do not use 'data': a paused stream stays paused when its next owner listens for data.
    stream.on('close', lost).on('end', lost).on('readable', look);
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort);
    stream.write(`${lines.join('\r\n')}\r\n\r\n`);
  });
}
