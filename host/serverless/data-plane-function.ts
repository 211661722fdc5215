import { PortholeError } from '#core/errors.ts';
import { errorResponse } from '#handlers/http/render-errors.ts';
import type { Route } from '#handlers/route.ts';
import { type GatewayEvent, gatewayEventReader, toGatewayResult } from './gateway-event.ts';
import type { GatewayFunction } from './gateway-function.ts';
import { lineLogger, logRequest } from './line-logger.ts';

/**
 * Replaces a route that streams on a runtime that buffers: returns the URL of the function host,
 * `PORTHOLE_PUBLIC_URL`. It opens no services, and the caller must authenticate there.
 */
export function dataPlaneFunction(route: Pick<Route, 'id' | 'method' | 'path'>): GatewayFunction {
  const read = gatewayEventReader(route);
  const log = lineLogger();
  return (event) => {
    const began = performance.now();
    const { requestId } = event.requestContext;
    const response = errorResponse(refusal(event), requestId, SILENT, route.id);
    logRequest(log, route.id, event, response.statusCode, began);
    return Promise.resolve(toGatewayResult(response, requestId));
  };

  function refusal(event: GatewayEvent): unknown {
    try {
      const { rawPath } = read(event);
      const origin = URL.parse(process.env['PORTHOLE_PUBLIC_URL'] ?? '')?.origin;
      const place = origin === undefined ? 'the function host' : `${origin}${rawPath}`;
      return new PortholeError(
        'not_streamable',
        `${route.id} streams, and no stream passes through this function: send the request to ${place}.`,
      );
    } catch (error) {
      return error;
    }
  }
}

/** A client that asks in the wrong place is not a failure of ours. */
const SILENT = lineLogger({ level: 'silent' });
