import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ApiCall, Fault } from '#test/doubles/api-server/fake-api-server.ts';

const REASONS = {
  409: 'Conflict',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
} as const;

/** Makes a call fail instead of answering it. Silence lasts until the client gives up. */
export function fail(call: ApiCall, fault: Fault, incoming: IncomingMessage, response: ServerResponse): void {
  call.status = 0;
  if (fault.kind === 'reset') incoming.socket.resetAndDestroy();
  if (fault.kind !== 'status') return;
  call.status = fault.status;
  response.writeHead(fault.status, refusalHeaders(fault));
  response.end(refusal(fault));
}

/** Like `fail`, for a WebSocket upgrade. */
export function failUpgrade(call: ApiCall, fault: Fault, incoming: IncomingMessage, socket: Duplex): void {
  if (fault.kind === 'reset') incoming.socket.resetAndDestroy();
  if (fault.kind !== 'status') return;
  call.status = fault.status;
  const headers = Object.entries({ ...refusalHeaders(fault), connection: 'close' });
  socket.end(
    `HTTP/1.1 ${fault.status} \r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${refusal(fault)}`,
  );
}

type Refusal = Extract<Fault, { kind: 'status' }>;

function refusal({ status, retryAfterSeconds }: Refusal): string {
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: status,
    reason: REASONS[status],
    message: 'a fault',
    ...(retryAfterSeconds !== undefined && { details: { retryAfterSeconds } }),
  });
}

function refusalHeaders({ retryAfterSeconds }: Refusal): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  };
}
