import type { GatewayTarget } from './ask-gateway.ts';
import { checkBody } from './check-body.ts';
import { checkCertificate } from './check-certificate.ts';
import { checkHeaders } from './check-headers.ts';
import { checkStream } from './check-stream.ts';
import { checkWebSocket } from './check-websocket.ts';
import type { Finding } from './finding.ts';
import { type TimeoutFacts, timeoutsFinding } from './timeouts-finding.ts';

export interface GatewayFacts extends Omit<TimeoutFacts, 'silence'> {
  /** How long an answer stays silent, in milliseconds. */
  readonly holdMs: number;
}

/** Longest for a check, in milliseconds; the stream's has the silence besides. */
const CHECK_MS = 10_000;

/** All checks at once, through a route that serves. */
export async function measureGateway(
  target: GatewayTarget,
  facts: GatewayFacts,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const within = (ms: number) => AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  const [headers, websocket, { sse, silence }, body, certificate] = await Promise.all([
    checkHeaders(target, within(CHECK_MS)),
    checkWebSocket(target, within(CHECK_MS)),
    checkStream(target, facts.holdMs, within(facts.holdMs + CHECK_MS)),
    checkBody(target, facts.controller, signal),
    checkCertificate(target, within(CHECK_MS)),
  ]);
  return [
    headers,
    websocket,
    sse,
    timeoutsFinding({ ...facts, ...(silence && { silence }) }),
    body,
    certificate,
  ];
}
