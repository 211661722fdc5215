/**
 * A model that follows a script, behind the HTTP APIs of OpenAI (`/v1/responses`) and Anthropic
 * (`/v1/messages`): frameworks and coding agents use it unchanged, and nothing leaves the machine.
 * The number of tool results in a request says which call comes next. After the last one, the model
 * repeats the text of the last result.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

export interface ScriptedCall {
  /** Name of the tool. Clients of MCP may put a prefix before it. */
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ScriptedModel {
  readonly url: string;
  close(): Promise<void>;
}

const Tool = z.object({
  type: z.string().optional(),
  name: z.string().optional(),
  // Codex sends the tools of an MCP server as one group.
  tools: z.array(z.object({ name: z.string() })).optional(),
});
const Part = z.object({ type: z.string(), text: z.string().optional() }).loose();
const Content = z.union([z.string(), z.array(Part)]);
const Responses = z.object({
  model: z.string(),
  stream: z.boolean().optional(),
  tools: z.array(Tool).default([]),
  input: z.union([
    z.string(),
    z.array(z.object({ type: z.string().optional(), output: Content.optional() }).loose()),
  ]),
});
const Block = z.object({ type: z.string(), content: Content.optional() }).loose();
const Messages = z.object({
  model: z.string(),
  stream: z.boolean().optional(),
  tools: z.array(Tool).default([]),
  messages: z.array(z.object({ content: z.union([z.string(), z.array(Block)]) })),
});

type Turn =
  | { readonly text: string }
  | { readonly name: string; readonly namespace?: string; readonly input: ScriptedCall['input'] };

interface StreamEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

const textOf = (content: z.infer<typeof Content>): string =>
  typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');

/** The next turn of the script. Fails if the client does not offer its tool. */
function nextTurn(
  script: readonly ScriptedCall[],
  tools: readonly z.infer<typeof Tool>[],
  results: readonly string[],
): Turn {
  const call = script[results.length];
  // Some clients ask for a title first, without tools.
  if (call === undefined || tools.length === 0) return { text: results.at(-1) ?? 'Nothing was called.' };
  for (const { name, tools: grouped } of tools) {
    const inGroup = grouped?.find((each) => each.name === call.tool);
    if (name !== undefined && inGroup) return { name: inGroup.name, namespace: name, input: call.input };
    if (name === call.tool || name?.endsWith(`__${call.tool}`)) return { name, input: call.input };
  }
  throw new Error(`no tool ${call.tool} in ${tools.map(({ name }) => name).join(', ')}`);
}

function answerResponses(script: readonly ScriptedCall[], body: unknown, response: ServerResponse): void {
  const { model, stream, tools, input } = Responses.parse(body);
  const items = typeof input === 'string' ? [] : input;
  const results = items.flatMap(({ type, output }) =>
    type === 'function_call_output' && output !== undefined ? [textOf(output)] : [],
  );
  const turn = nextTurn(script, tools, results);
  const id = `item_${results.length}`;
  const item =
    'text' in turn
      ? {
          type: 'message',
          id,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: turn.text, annotations: [] }],
        }
      : {
          type: 'function_call',
          id,
          call_id: `call_${results.length}`,
          name: turn.name,
          ...(turn.namespace !== undefined && { namespace: turn.namespace }),
          arguments: JSON.stringify(turn.input),
          status: 'completed',
        };
  const answer = {
    id: `resp_${results.length}`,
    object: 'response',
    created_at: 0,
    status: 'completed',
    model,
    output: [item],
    usage: {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    },
  };
  if (!stream) return sendJson(response, answer);
  sendEvents(response, [
    { type: 'response.created', response: { ...answer, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: answer },
  ]);
}

function answerMessages(script: readonly ScriptedCall[], body: unknown, response: ServerResponse): void {
  const { model, stream, tools, messages } = Messages.parse(body);
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const results = blocks.flatMap(({ type, content }) =>
    type === 'tool_result' ? [content === undefined ? '' : textOf(content)] : [],
  );
  const turn = nextTurn(script, tools, results);
  const isText = 'text' in turn;
  const block = isText
    ? { type: 'text', text: turn.text }
    : { type: 'tool_use', id: `toolu_${results.length}`, name: turn.name, input: turn.input };
  const message = { id: `msg_${results.length}`, type: 'message', role: 'assistant', model };
  const stop = { stop_reason: isText ? 'end_turn' : 'tool_use', stop_sequence: null };
  const usage = { input_tokens: 1, output_tokens: 1 };
  if (!stream) return sendJson(response, { ...message, content: [block], ...stop, usage });
  sendEvents(response, [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: isText ? { type: 'text', text: '' } : { ...block, input: {} },
    },
    {
      type: 'content_block_delta',
      index: 0,
      delta: isText
        ? { type: 'text_delta', text: turn.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(turn.input) },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: stop, usage },
    { type: 'message_stop' },
  ]);
}

function sendJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendEvents(response: ServerResponse, events: readonly StreamEvent[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [index, event] of events.entries()) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`);
  }
  response.end();
}

export async function startScriptedModel(script: readonly ScriptedCall[]): Promise<ScriptedModel> {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const answers = { '/v1/responses': answerResponses, '/v1/messages': answerMessages }[pathname];
    const body = await text(request);
    if (answers === undefined) return void response.writeHead(404).end('{}');
    answers(script, JSON.parse(body), response);
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      // Clients repeat a 500; this ends them.
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { type: 'script', message: String(error) } }));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
