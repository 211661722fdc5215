import { traced, type WorkSpan } from '#core/telemetry/tracing.ts';
import type { ReceivedHeaders } from '#protocol/guest/trace-context.ts';
import type { Target } from '../server/router.ts';

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * A request as a span of a server, which continues the client's trace. Named by the HTTP semantic
 * conventions, without the path and the query: they have ids, file names and tokens.
 * @param answer resolves once the answer is sent
 */
export function tracedRequest<Answer extends { readonly statusCode: number }>(
  method: string,
  parent: ReceivedHeaders,
  { operation, route }: Pick<Target, 'operation' | 'route'>,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  const [known, named] = spanMethod(method);
  const attributes = {
    'http.request.method': known,
    ...(route !== undefined && { 'http.route': route }),
    'porthole.operation': operation,
  };
  const name = route === undefined ? named : `${named} ${route}`;
  return traced({ name, kind: 'server', attributes, parent }, async (span) => {
    const sent = await answer();
    answered(span, sent.statusCode);
    return sent;
  });
}

/** The method as an attribute, and in a name: any other text is of the client's choosing. */
export function spanMethod(method = ''): readonly [attribute: string, name: string] {
  return METHODS.has(method) ? [method, method] : ['_OTHER', 'HTTP'];
}

/** @param status undefined: the client has no answer */
export function answered(span: WorkSpan | undefined, status: number | undefined): void {
  if (status === undefined) return span?.fail('cut_off');
  span?.set({ 'http.response.status_code': status });
  if (status >= 500) span?.fail(String(status));
}
