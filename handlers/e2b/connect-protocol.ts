/**
 * The Connect protocol with JSON, as E2B's clients speak it
 * (https://connectrpc.com/docs/protocol): a call is a POST, a stream of answers is a sequence of
 * envelopes.
 */
import { Readable } from 'node:stream';
import type { ErrorCode } from '#base/errors.ts';
import { PortholeError } from '#base/errors.ts';
import type { ErrorBody, HttpResponse } from '../http/http-event.ts';

/** Codes of the protocol that we send. */
type ConnectCode =
  | 'canceled'
  | 'invalid_argument'
  | 'deadline_exceeded'
  | 'not_found'
  | 'already_exists'
  | 'permission_denied'
  | 'resource_exhausted'
  | 'failed_precondition'
  | 'unimplemented'
  | 'internal'
  | 'unavailable'
  | 'unauthenticated';

/** The statuses that the protocol gives its codes. */
const STATUS: Readonly<Record<ConnectCode, number>> = {
  canceled: 499,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
};

const BY_STATUS: Readonly<Record<number, ConnectCode>> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  408: 'deadline_exceeded',
  409: 'failed_precondition',
  413: 'resource_exhausted',
  415: 'unimplemented',
  429: 'resource_exhausted',
  501: 'unimplemented',
  502: 'unavailable',
  503: 'unavailable',
  507: 'resource_exhausted',
};

const BY_CODE: { readonly [code in ErrorCode]?: ConnectCode } = { file_exists: 'already_exists' };

interface ConnectError {
  readonly code: ConnectCode;
  readonly message: string;
}

function connectError({ code, error }: Pick<ErrorBody, 'code' | 'error'>, status: number): ConnectError {
  // The catalogue's code is inside: the protocol has fewer.
  return { code: BY_CODE[code] ?? BY_STATUS[status] ?? 'internal', message: `${error} (${code})` };
}

/** An error of a call. */
export function connectErrorShape(error: ErrorBody, status: number): { status: number; body: ConnectError } {
  const body = connectError(error, status);
  return { status: STATUS[body.code], body };
}

const MESSAGE = 0;
const END_OF_STREAM = 2;
const HEAD_BYTES = 5;

function envelope(flags: number, value: object): Buffer {
  const message = Buffer.from(JSON.stringify(value));
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/**
 * The message of a call with a stream of answers: one envelope, of which the route has limited the
 * size.
 * @throws PortholeError `invalid_request`
 */
export function onlyMessage(body: Buffer): Buffer {
  const problem = (what: string) =>
    new PortholeError('invalid_request', `The body is no envelope of the Connect protocol: ${what}.`);
  if (body.length < HEAD_BYTES) throw problem(`it has ${body.length} bytes`);
  const flags = body.readUInt8(0);
  if (flags !== MESSAGE) throw problem(`its flags are ${flags}, and compression is not supported`);
  const length = body.readUInt32BE(1);
  if (length !== body.length - HEAD_BYTES) {
    throw problem(`it announces ${length} bytes, and ${body.length - HEAD_BYTES} came`);
  }
  return body.subarray(HEAD_BYTES);
}

/** What clients look for in the error of a call that its sandbox did not survive. */
const KILLED = {
  code: 'unavailable',
  message: 'The sandbox was killed or reached its end of life while the request was in flight',
} as const satisfies ConnectError;

/**
 * A stream of messages. The protocol has the outcome in the last envelope, so an error after the
 * first message is one, too.
 * @param isKilled whether the sandbox was destroyed meanwhile
 */
export function messageStream(
  messages: AsyncIterable<object>,
  over: AbortSignal,
  isKilled: () => Promise<boolean>,
): HttpResponse {
  async function* envelopes(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const message of messages) yield envelope(MESSAGE, message);
      yield envelope(END_OF_STREAM, {});
    } catch (error) {
      if (over.aborted) return;
      const end = endOf(error);
      if (end.code !== 'unavailable' && !isSandboxGone(error)) yield envelope(END_OF_STREAM, { error: end });
      else if (await isKilled()) yield envelope(END_OF_STREAM, { error: KILLED });
      // Without an end the client asks whether the sandbox still runs.
      else throw error;
    }
  }
  return {
    statusCode: 200,
    headers: {
      'content-type': 'application/connect+json',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    },
    body: Readable.from(envelopes()),
  };
}

function isSandboxGone(error: unknown): boolean {
  return error instanceof PortholeError && error.code === 'sandbox_not_found';
}

function endOf(error: unknown): ConnectError {
  if (!(error instanceof PortholeError)) return { code: 'internal', message: 'Something went wrong.' };
  return connectError({ error: error.message, code: error.shownCode }, error.status);
}
