import { Readable } from 'node:stream';
import { PortholeError } from '#core/errors.ts';
import type { HttpEvent, HttpResponse } from '#handlers/http/http-event.ts';
import { withSafeHeaders } from '#handlers/http/response-headers.ts';
import type { Route } from '#handlers/route.ts';

/**
 * What API Gateway hands over for an HTTP API (payload format 2.0), and a function URL too: the
 * fields that are read.
 */
export interface GatewayEvent {
  /** Perhaps below a stage's name, or below what the API's own domain maps to it. */
  readonly rawPath: string;
  readonly rawQueryString?: string | undefined;
  /** Several values of one name are joined with a comma. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  /** They do not stand among the headers. */
  readonly cookies?: readonly string[] | undefined;
  readonly requestContext: {
    readonly requestId?: string | undefined;
    readonly http: { readonly method: string; readonly sourceIp?: string | undefined };
  };
  readonly body?: string | null | undefined;
  readonly isBase64Encoded?: boolean | undefined;
}

/** Makes the events of one route into those that its function takes. */
export type ReadGatewayEvent = (event: GatewayEvent) => HttpEvent;

/**
 * Path parameters come from the path itself: a gateway that leads several routes to one function,
 * and a function URL, tell none.
 * @throws PortholeError `not_found`, `method_not_allowed` for what is another route's,
 * `invalid_request`; all by the function that this gives
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
  // At the root of a stage there need not be a slash.
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

/** What API Gateway makes an answer of. */
export interface GatewayResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/**
 * Most that a function's result may weigh as JSON, in bytes: 6 MiB, less what the runtime itself
 * adds.
 */
const MAX_RESULT_BYTES = 6 * 1024 * 1024 - 4096;

/**
 * Bytes travel as base64.
 * @throws PortholeError `not_streamable` for a stream, `payload_too_large` for more than a function
 * can hand over
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

/**
 * Each character becomes six bytes at most (`\u0000`): what is short enough need not be measured.
 */
function weighsTooMuch(result: GatewayResult): boolean {
  if (result.body.length < MAX_RESULT_BYTES / 8) return false;
  return Buffer.byteLength(JSON.stringify(result)) > MAX_RESULT_BYTES;
}
