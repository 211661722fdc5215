import { actorOf, type Cause } from '#core/audit/present-cause.ts';
import type { ChainEvent } from './admit.ts';

/** What the events of a request are done for. */
export function requestCause({ caller, requestContext }: ChainEvent): Cause {
  const { requestId, http } = requestContext;
  return {
    ...actorOf(caller),
    sourceIp: http.sourceIp ?? null,
    requestId: requestId ?? null,
    reason: null,
  };
}
