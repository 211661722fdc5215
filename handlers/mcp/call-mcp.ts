import { z } from 'zod';
import { mcpChallenge } from '../auth/oauth-metadata-routes.ts';
import type { HttpResponse } from '../http/http-event.ts';
import { defineRoute, json } from '../route.ts';

/** Maximum messages of a batch; only old versions of the protocol have batches. */
const MAX_MESSAGES = 16;

const Message = z.record(z.string(), z.unknown());

export const callMcpRoute = defineRoute('callMcp', 'POST', '/mcp', {
  tag: 'MCP',
  summary: 'Model Context Protocol',
  description:
    'The protocol’s streamable HTTP transport. `notifications/cancelled` ends the call that it names. `docs/reference/mcp-tools.md` lists the tools. ' +
    'A tool requires the same permission as its route.',
  class: 'stream',
  agents: true,
  challenge: mcpChallenge,
  body: z.union([Message, z.array(Message).meta({ minItems: 1, maxItems: MAX_MESSAGES })]),
  responses: {
    200: { description: 'The answer, and notifications before it', contentType: 'text/event-stream' },
    202: { description: 'Notifications are taken, and not answered' },
    406: { description: 'The client accepts neither `text/event-stream` nor `application/json`' },
  },
  streams: true,
  async handle(request, services) {
    if (Array.isArray(request.body) && !isBatch(request.body)) return notABatch(request.body.length);
    const { serveMcp } = await import('./serve-mcp.ts');
    return serveMcp(request, services);
  },
});

function isBatch({ length }: readonly unknown[]): boolean {
  return length >= 1 && length <= MAX_MESSAGES;
}

/** An error in the form of JSON-RPC 2.0, section 6: MCP clients read no other. */
function notABatch(length: number): HttpResponse {
  const message = `Invalid Request: a batch of ${length} messages: send 1 to ${MAX_MESSAGES}`;
  return json(400, { jsonrpc: '2.0', error: { code: -32_600, message }, id: null });
}
