import { PortholeError } from '#base/errors.ts';
import { errorResponse } from '#handlers/http/render-errors.ts';
import type { HttpEvent } from '#handlers/http/http-event.ts';
import type { Route } from '#handlers/route.ts';
import { readGatewayEvent, routeReader, toGatewayResult } from './gateway-event.ts';
import type { GatewayFunction } from './http-function.ts';
import { lineLogger, logRequest } from './line-logger.ts';

/**
 * Replaces a route that streams on a runtime that buffers: returns the URL of the function host,
 * `PORTHOLE_PUBLIC_URL`. It opens no services, and the caller must authenticate there.
 */
export function dataPlaneFunction(route: Pick<Route, 'id' | 'method' | 'path'>): GatewayFunction {
  const read = routeReader(route);
  const log = lineLogger();
  return (given) => {
    const began = performance.now();
    const { event, format } = readGatewayEvent(given);
    const { requestId } = event.requestContext;
    const response = errorResponse(refusal(event), requestId, SILENT, route.id);
    logRequest(log, route.id, event, response.statusCode, began);
    return toGatewayResult(response, requestId, format);
  };

  function refusal(event: HttpEvent): unknown {
    try {
      return notStreamable(route.id, read(event).rawPath);
    } catch (error) {
      return error;
    }
  }
}

export function notStreamable(operation: string, path: string): PortholeError {
  const origin = URL.parse(process.env['PORTHOLE_PUBLIC_URL'] ?? '')?.origin;
  const place = origin === undefined ? 'the function host' : `${origin}${path}`;
  return new PortholeError(
    'not_streamable',
    `${operation} streams, and no stream passes through this function`,
    { remedy: `send the request to ${place}.` },
  );
}

/** A client that asks in the wrong place is not a failure of ours. */
const SILENT = lineLogger({ level: 'silent' });
