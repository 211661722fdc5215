import { Readable } from 'node:stream';
import { PortholeError } from '#base/errors.ts';
import type { HttpEvent, HttpResponse } from '#handlers/http/http-event.ts';
import { withSafeHeaders } from '#handlers/http/response-headers.ts';

type Texts = Readonly<Record<string, string | undefined>>;
type TextLists = Readonly<Record<string, readonly string[] | undefined>>;

interface AnyEvent {
  readonly headers?: Texts | null | undefined;
  readonly body?: string | null | undefined;
  readonly isBase64Encoded?: boolean | undefined;
}

/** The event of an HTTP API (payload format 2.0) or a function URL: the fields that are read. */
export interface HttpApiEvent extends AnyEvent {
  /** May include a stage's name, or the base path of a custom domain. */
  readonly rawPath: string;
  readonly rawQueryString?: string | undefined;
  /** Not part of the headers. */
  readonly cookies?: readonly string[] | undefined;
  readonly requestContext: {
    readonly requestId?: string | undefined;
    readonly stage?: string | undefined;
    readonly http: { readonly method: string; readonly sourceIp?: string | undefined };
  };
}

/** The event of a REST API, an HTTP API (payload format 1.0) or a target group of an ALB. */
export interface ProxyEvent extends AnyEvent {
  readonly httpMethod: string;
  readonly path: string;
  /** A target group sends either these or the single values, as its attribute says. */
  readonly multiValueHeaders?: TextLists | null | undefined;
  readonly queryStringParameters?: Texts | null | undefined;
  readonly multiValueQueryStringParameters?: TextLists | null | undefined;
  readonly requestContext: {
    readonly requestId?: string | undefined;
    readonly stage?: string | undefined;
    readonly identity?: { readonly sourceIp?: string | undefined } | undefined;
    /** Set by an ALB. */
    readonly elb?: object | undefined;
  };
}

export type GatewayEvent = HttpApiEvent | ProxyEvent;

/** How a result reaches the client: the shape of its headers, and its maximum size. */
export interface ResultFormat {
  readonly headers: 'cookies apart' | 'one value' | 'several values';
  /** Maximum size of the result as JSON, in bytes. */
  readonly bytes: number;
  readonly limit: string;
}

/** 6 MiB, less what the runtime itself adds. */
const FUNCTION_LIMIT = { bytes: 6 * 1024 * 1024 - 4096, limit: '6 MB of a buffered function' };
const ALB_LIMIT = { bytes: 1024 * 1024, limit: '1 MB of a load balancer' };
const HTTP_API: ResultFormat = { headers: 'cookies apart', ...FUNCTION_LIMIT };

/** A gateway's event, converted. */
export interface GatewayRequest {
  /** Without parameters of the path. */
  readonly event: HttpEvent;
  /** Name of the stage, which may precede the path. */
  readonly stage: string | undefined;
  readonly format: ResultFormat;
}

/** @throws TypeError for an event of another service, which is a mistake in the installation */
export function readGatewayEvent(given: GatewayEvent): GatewayRequest {
  const { body, isBase64Encoded } = given;
  if ('rawPath' in given) {
    const { rawPath, rawQueryString = '', cookies = [], requestContext } = given;
    const headers = lowerCase(given.headers);
    return {
      event: {
        rawPath,
        rawQueryString,
        headers: cookies.length === 0 ? headers : { ...headers, cookie: cookies.join('; ') },
        requestContext,
        body,
        isBase64Encoded,
      },
      stage: requestContext.stage,
      format: HTTP_API,
    };
  }
  if (!('httpMethod' in given)) {
    throw new TypeError(
      `An event with the fields ${Object.keys(given).join(', ')} is no HTTP request: connect this function to an HTTP API, a REST API, a load balancer or a function URL.`,
    );
  }
  const { path, httpMethod, multiValueHeaders: several, requestContext } = given;
  const isAlb = requestContext.elb !== undefined;
  const headers = several ? joined(several) : lowerCase(given.headers);
  // The load balancer appends the address of the connection, RFC 7239 calls it the last hop.
  const forwarded = isAlb ? headers['x-forwarded-for']?.split(',').at(-1)?.trim() : undefined;
  return {
    event: {
      rawPath: path,
      rawQueryString: queryOf(given, isAlb),
      headers,
      requestContext: {
        requestId: requestContext.requestId ?? headers['x-amzn-trace-id'],
        http: { method: httpMethod, sourceIp: requestContext.identity?.sourceIp ?? forwarded },
      },
      body,
      isBase64Encoded,
    },
    stage: requestContext.stage,
    format: {
      headers: several ? 'several values' : 'one value',
      ...(isAlb ? ALB_LIMIT : FUNCTION_LIMIT),
    },
  };
}

function lowerCase(headers: AnyEvent['headers']): HttpEvent['headers'] {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** RFC 9110 section 5.3: values of one name form a list. RFC 6265 section 5.4: not so cookies. */
function joined(headers: TextLists): HttpEvent['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => {
      const lower = name.toLowerCase();
      return [lower, values?.join(lower === 'cookie' ? '; ' : ', ')];
    }),
  );
}

/** API Gateway decodes the query, a load balancer does not. */
function queryOf(
  { multiValueQueryStringParameters: several, queryStringParameters: single }: ProxyEvent,
  isEncoded: boolean,
): string {
  const pairs = several
    ? Object.entries(several).flatMap(([name, values]) => (values ?? []).map((value) => [name, value]))
    : Object.entries(single ?? {}).map(([name, value]) => [name, value ?? '']);
  return isEncoded
    ? pairs.map((pair) => pair.join('=')).join('&')
    : String(new URLSearchParams(pairs as [string, string][]));
}

/** The result of a function: API Gateway's format, of which an ALB takes a part. */
export interface GatewayResult {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  readonly cookies?: readonly string[];
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/**
 * Buffers streams, and encodes binary bodies as base64.
 * @throws PortholeError `payload_too_large` for more than the runtime returns; a stream is then
 * destroyed
 */
export async function toGatewayResult(
  { statusCode, headers, body = '' }: HttpResponse,
  requestId: string | undefined,
  format: ResultFormat = HTTP_API,
): Promise<GatewayResult> {
  const whole = body instanceof Readable ? await buffered(body, format) : body;
  const isBase64Encoded = typeof whole !== 'string';
  const result: GatewayResult = {
    statusCode,
    ...shaped(resultHeaders(headers, requestId), format),
    body: isBase64Encoded ? whole.toString('base64') : whole,
    isBase64Encoded,
  };
  if (weighsTooMuch(result, format)) throw tooLarge(format);
  return result;
}

export function resultHeaders(
  headers: HttpResponse['headers'],
  requestId: string | undefined,
): Record<string, string> {
  return { ...withSafeHeaders(headers), ...(requestId !== undefined && { 'x-request-id': requestId }) };
}

/** Headers of a result, and of the head of a stream. */
export function shaped(
  headers: Record<string, string>,
  { headers: shape }: Pick<ResultFormat, 'headers'>,
): Pick<GatewayResult, 'headers' | 'multiValueHeaders' | 'cookies'> {
  if (shape === 'several values') {
    const lists = Object.entries(headers).map(([name, value]) => [name, [value]]);
    return { multiValueHeaders: Object.fromEntries(lists) };
  }
  const { 'set-cookie': cookie, ...others } = headers;
  return shape === 'one value' || cookie === undefined ? { headers } : { headers: others, cookies: [cookie] };
}

async function buffered(stream: Readable, format: ResultFormat): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop destroys the stream.
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array | string);
    size += bytes.length;
    if (size > format.bytes) throw tooLarge(format);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function tooLarge({ limit }: ResultFormat): PortholeError {
  return new PortholeError('payload_too_large', `The response exceeds the limit of ${limit}`, {
    remedy: 'Request less, or send the request to a function that streams.',
  });
}

/** Each character becomes six bytes at most (`\u0000`): short results need not be measured. */
function weighsTooMuch(result: GatewayResult, { bytes }: ResultFormat): boolean {
  if (result.body.length < bytes / 8) return false;
  return Buffer.byteLength(JSON.stringify(result)) > bytes;
}
