import { Readable } from 'node:stream';
import { PortholeError } from '#core/errors.ts';
import type { HttpEvent, HttpResponse } from '#handlers/http/http-event.ts';
import { withSafeHeaders } from '#handlers/http/response-headers.ts';
import type { Route } from '#handlers/route.ts';

/**
 * The event of an API Gateway HTTP API (payload format 2.0) or a function URL: the fields that are
 * read.
 */
export interface GatewayEvent {
  /** May include a stage's name, or the base path of a custom domain. */
  readonly rawPath: string;
  readonly rawQueryString?: string | undefined;
  /** Several values of one name are joined with a comma. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  /** Not part of the headers. */
  readonly cookies?: readonly string[] | undefined;
  readonly requestContext: {
    readonly requestId?: string | undefined;
    readonly http: { readonly method: string; readonly sourceIp?: string | undefined };
  };
  readonly body?: string | null | undefined;
  readonly isBase64Encoded?: boolean | undefined;
}

/** Converts the events of one route for its function. */
export type ReadGatewayEvent = (event: GatewayEvent) => HttpEvent;

/**
 * Reads path parameters from the path itself: a function URL, and a gateway with several routes for
 * one function, provide none.
 * @throws PortholeError `not_found`, `method_not_allowed` for another route's request,
 * `invalid_request`; all by the returned function
 */
export function gatewayEventReader({
  method,
  path: template,
}: Pick<Route, 'method' | 'path'>): ReadGatewayEvent {
  const { pattern, names } = pathPattern(template);
  return (event) => {
    const { rawPath, rawQueryString = '', cookies = [], requestContext } = event;
    const asked = requestContext.http.method;
    const found = pattern.exec(rawPath);
    if (found === null) {
      throw new PortholeError('not_found', `This function serves ${method} ${template} and no other path.`);
    }
    if (asked !== method && !(asked === 'HEAD' && method === 'GET')) {
      throw new PortholeError(
        'method_not_allowed',
        `This function serves ${method} ${template}, not ${JSON.stringify(asked.slice(0, 20))}.`,
      );
    }
    const headers = Object.fromEntries(
      Object.entries(event.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    return {
      rawPath: found[1] ?? rawPath,
      rawQueryString,
      headers: cookies.length === 0 ? headers : { ...headers, cookie: cookies.join('; ') },
      pathParameters: Object.fromEntries(names.map((name, at) => [name, decoded(found[at + 2] ?? '')])),
      requestContext,
      body: event.body,
      isBase64Encoded: event.isBase64Encoded,
    };
  };
}

/** Matches the path at the end of a longer one: first the path itself, then each parameter. */
function pathPattern(template: string): { readonly pattern: RegExp; readonly names: readonly string[] } {
  const names: string[] = [];
  const source = template
    .split('/')
    .map((segment) => {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1];
      if (name === undefined) return segment.replaceAll('.', '\\.');
      names.push(name);
      return name === 'path' ? '(.+)' : '([^/]+)';
    })
    .join('/');
  // At the root of a stage the slash may be missing.
  return { pattern: new RegExp(template === '/' ? '^.*?(/?)$' : `(${source})$`), names };
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch (cause) {
    throw new PortholeError(
      'invalid_request',
      'The request cannot be read: its URL is not valid percent-encoded UTF-8.',
      { cause },
    );
  }
}

/** API Gateway's result format. */
export interface GatewayResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/**
 * Maximum size of a function's result as JSON, in bytes: 6 MiB, less what the runtime itself adds.
 */
const MAX_RESULT_BYTES = 6 * 1024 * 1024 - 4096;

/**
 * Binary bodies are encoded as base64.
 * @throws PortholeError `not_streamable` for a stream, `payload_too_large` for more than a function
 * can return
 */
export function toGatewayResult(response: HttpResponse, requestId: string | undefined): GatewayResult {
  const { statusCode, body = '' } = response;
  if (body instanceof Readable) {
    body.destroy();
    throw new PortholeError('not_streamable', 'This function cannot answer with a stream.');
  }
  const isBase64Encoded = typeof body !== 'string';
  const result: GatewayResult = {
    statusCode,
    headers: {
      ...withSafeHeaders(response.headers),
      ...(requestId !== undefined && { 'x-request-id': requestId }),
    },
    body: isBase64Encoded ? body.toString('base64') : body,
    isBase64Encoded,
  };
  if (weighsTooMuch(result)) {
    throw new PortholeError(
      'payload_too_large',
      `The answer is larger than the ${MAX_RESULT_BYTES} bytes that a function can hand over: ask for less.`,
    );
  }
  return result;
}

/** Each character becomes six bytes at most (`\u0000`): short results need not be measured. */
function weighsTooMuch(result: GatewayResult): boolean {
  if (result.body.length < MAX_RESULT_BYTES / 8) return false;
  return Buffer.byteLength(JSON.stringify(result)) > MAX_RESULT_BYTES;
}
