import type { GatewayEvent } from '#host/serverless/gateway-event.ts';

// Silences the functions' logs.
process.env['LOG_LEVEL'] = 'silent';

/** An event of an HTTP API, with the fields that API Gateway always sends. */
export function gatewayEvent(
  method: string,
  rawPath: string,
  {
    headers = {},
    body,
    base64 = false,
  }: { headers?: Record<string, string>; body?: string; base64?: boolean } = {},
): GatewayEvent {
  return {
    rawPath,
    rawQueryString: '',
    headers: { host: 'api.example.com', ...headers },
    requestContext: { requestId: 'req-1', http: { method, sourceIp: '203.0.113.7' } },
    ...(body !== undefined && { body }),
    isBase64Encoded: base64,
  };
}
