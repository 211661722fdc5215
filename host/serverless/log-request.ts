import type { Logger } from '#handlers/services.ts';
import type { GatewayEvent } from './gateway-event.ts';

/** The line of one request, as the function host writes it. `began`: in milliseconds of `performance.now()`. */
export function logRequest(
  log: Logger,
  operation: string,
  { requestContext: { requestId, http } }: GatewayEvent,
  status: number,
  began: number,
): void {
  const ms = Math.round((performance.now() - began) * 10) / 10;
  const fields = { operation, status, ms, request_id: requestId };
  // Probes and polling would drown the rest.
  if (http.method === 'GET' && status < 400) log.debug(fields, 'request');
  else log.info(fields, 'request');
}
