import { PortholeError } from '#core/errors.ts';
import type { HttpEvent } from '#handlers/http-event.ts';
import type { Route } from '#handlers/route.ts';

/** What API Gateway hands over for an HTTP API (payload format 2.0), and a function URL too: the fields that are read. */
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
 * Path parameters come from the path itself: a gateway that leads several routes to one function, and a function URL, tell none.
 * @throws PortholeError `not_found`, `method_not_allowed` for what is another route's, `invalid_request`; all by the function that this gives
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
