import { actorOf, type Cause } from '#core/audit/present-cause.ts';
import { traceHeadersOf } from '#protocol/guest/trace-context.ts';
import type { ChainEvent } from './admit.ts';

/** What the events of a request are done for. */
export function requestCause({ caller, headers, requestContext }: ChainEvent): Cause {
  const { requestId, http } = requestContext;
  return {
    ...actorOf(caller),
    sourceIp: http.sourceIp ?? null,
    requestId: requestId ?? null,
    reason: null,
    trace: traceHeadersOf(headers),
  };
}
