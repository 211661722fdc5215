import { z } from 'zod';
import { defineRoute } from '../route.ts';

/** Messages of a batch at a time; only old versions of the protocol know batches. */
const MOST_MESSAGES = 16;

const Message = z.record(z.string(), z.unknown());

export const callMcpRoute = defineRoute({
  id: 'callMcp',
  method: 'POST',
  path: '/mcp',
  tag: 'MCP',
  summary: 'Model Context Protocol',
  description:
    'The protocol’s streamable HTTP transport, without sessions. Tools: start_preview, stop_preview, list_previews, doctor, run_command, read_file, write_file, list_files. ' +
    'Whoever may call a route may call its tool.',
  access: 'caller',
  agents: true,
  body: z.union([Message, z.array(Message).min(1).max(MOST_MESSAGES)]),
  responses: {
    200: { description: 'The answer, and notifications before it', contentType: 'text/event-stream' },
    202: { description: 'Notifications are taken, and not answered' },
    406: { description: 'The client does not accept both `application/json` and `text/event-stream`' },
  },
  errors: ['not_streamable'],
  async handle(request, services) {
    const { serveMcp } = await import('./serve-mcp.ts');
    return serveMcp(request, services);
  },
});
