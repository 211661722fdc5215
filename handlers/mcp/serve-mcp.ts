/** The Model Context Protocol's server, loaded by the first request that is for it. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  CancelledNotificationSchema,
  ErrorCode,
  InitializeRequestSchema,
  ListToolsRequestSchema,
  McpError,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { actorOn } from '#core/callers.ts';
import { diagnosePages } from '#core/pages/check-preview.ts';
import { recordAgentConnected } from '#core/runs/agent-token.ts';
import { findRun } from '#core/runs/find-run.ts';
import { describeProblems } from '../http/describe-problems.ts';
import type { HttpResponse } from '../http/http-event.ts';
import { type ErrorBody, errorResponse } from '../http/render-errors.ts';
import { DiagnosisDto, toDiagnosisDto } from '../previews/diagnosis-route.ts';
import type { RouteRequest } from '../route.ts';
import type { Services } from '../services.ts';
import { defineTool, type McpTool, type ToolContext } from './mcp-tool.ts';
import { beginCall, cancelCall } from './running-calls.ts';
import { port, runId } from './tools/inputs-tool.ts';
import { listFilesTool } from './tools/list-files-tool.ts';
import { listPreviewsTool } from './tools/list-previews-tool.ts';
import { checkPageTool, lookAtPageTool } from './tools/page-tools.ts';
import { readFileTool } from './tools/read-file-tool.ts';
import { runCommandTool } from './tools/run-command-tool.ts';
import { runOf, startRunTool } from './tools/run-sandbox-tool.ts';
import { listProcessesTool, serverLogsTool, startServerTool } from './tools/servers-tool.ts';
import { startPreviewTool } from './tools/start-preview-tool.ts';
import { stopPreviewTool } from './tools/stop-preview-tool.ts';
import { writeFileTool } from './tools/write-file-tool.ts';

const doctorTool = defineTool({
  name: 'doctor',
  title: 'Find out why a preview does not show the app',
  description:
    'Look into the sandbox of a run: what listens there (port, address, process), whether it answers HTTP and WebSockets, whether the pages of live previews work in a browser, and what to do so that a preview shows the app. ' +
    'With a port just that one; without, every port that listens.',
  input: z.strictObject({ run_id: runId, port: port.optional() }),
  output: DiagnosisDto,
  annotations: { readOnlyHint: true },
  async run({ run_id, port }, context) {
    const { services, caller, signal } = context;
    const run = await runOf(context, run_id);
    const found = await diagnosePages(services, { run, port, by: actorOn(run, caller) }, signal);
    const lines = found.ports.map((each) => `Port ${each.port}: ${each.advice}`);
    return {
      data: toDiagnosisDto(found, services),
      text: lines.length === 0 ? found.advice : lines.join('\n'),
    };
  },
});

/**
 * Every tool, in the order in which clients show them. A new tool is its file and its line here.
 */
const TOOLS: readonly McpTool[] = [
  startRunTool,
  startPreviewTool,
  stopPreviewTool,
  listPreviewsTool,
  doctorTool,
  checkPageTool,
  lookAtPageTool,
  runCommandTool,
  startServerTool,
  serverLogsTool,
  listProcessesTool,
  readFileTool,
  writeFileTool,
  listFilesTool,
];

type Request = Pick<
  RouteRequest<unknown, unknown, unknown>,
  'body' | 'caller' | 'headers' | 'signal' | 'redact'
>;

/** A comment this often keeps proxies from cutting a call that waits, in milliseconds. */
const KEEP_ALIVE = 15_000;

const INSTRUCTIONS =
  'Porthole shows servers that run in sandboxes to people. Call start_run once, unless you have the token of an agent. Work in the sandbox of the run with run_command, read_file, write_file and list_files; start a server there with ' +
  'start_server; then start_preview opens a live URL, which a person may have to approve. When a preview does not show the app, doctor says why; check says whether the page works for a person, and what is broken: call it before you report a page as done.';

const byName = new Map(TOOLS.map((tool) => [tool.name, tool]));

/** As clients list them; made once. */
let listed: Tool[] | undefined;

/**
 * Answers one request of the protocol's streamable HTTP transport: each request has a server of its
 * own, which knows its caller. The session that `initialize` names is kept nowhere: it
 * tells apart the clients of one key. The client's going away ends what it asked for, and so does
 * `notifications/cancelled`, where it comes to the same process.
 */
export async function serveMcp(request: Request, services: Services): Promise<HttpResponse> {
  const sessionId = request.headers['mcp-session-id'];
  const messages: readonly unknown[] = Array.isArray(request.body) ? request.body : [request.body];
  for (const message of messages) {
    const { data } = CancelledNotificationSchema.safeParse(message);
    if (data !== undefined) {
      cancelCall({ caller: request.caller, sessionId, requestId: data.params.requestId });
    }
  }
  const { caller } = request;
  if (caller.kind === 'agent') {
    const run = await findRun(services, caller, caller.runId, { agents: true });
    await recordAgentConnected(services, run);
  }
  const server = createServer(request, services);
  const transport = new WebStandardStreamableHTTPServerTransport({ keepAliveMs: KEEP_ALIVE });
  await server.connect(transport);
  const end = (): void => void server.close();
  if (request.signal?.aborted) end();
  request.signal?.addEventListener('abort', end, { once: true });
  const response = await transport.handleRequest(webRequest(request.headers), { parsedBody: request.body });
  const { 'content-type': type } = Object.fromEntries(response.headers);
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  if (messages.some((message) => InitializeRequestSchema.safeParse(message).success)) {
    headers['mcp-session-id'] = randomUUID();
  }
  if (type?.startsWith('text/event-stream') !== true) {
    end();
    return { statusCode: response.status, headers, body: await response.text() };
  }
  const body = Readable.fromWeb(response.body as ReadableStream);
  body.once('close', end);
  return {
    statusCode: response.status,
    headers: { ...headers, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' },
    body,
  };
}

/** What the transport looks at of a request: its body has been read already. */
function webRequest(headers: Request['headers']): globalThis.Request {
  const named = ['accept', 'content-type', 'mcp-protocol-version'] as const;
  const shown = named.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value] as [string, string]];
  });
  return new globalThis.Request('http://porthole/mcp', { method: 'POST', headers: shown });
}

function createServer({ caller, headers, signal, redact }: Request, services: Services): Server {
  const server = new Server(
    { name: 'porthole', title: 'Porthole', version: '1.0.0' },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator: NO_VALIDATOR },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: (listed ??= TOOLS.map(describe)) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = byName.get(params.name);
    if (tool === undefined) {
      throw new McpError(
        ErrorCode.InvalidParams,
        `There is no tool ${JSON.stringify(redact(params.name.slice(0, 60)))}: tools/list names them.`,
      );
    }
    const sessionId = headers['mcp-session-id'];
    const name = { caller, sessionId, requestId: extra.requestId };
    const call = beginCall(name);
    const signals = [call.signal, extra.signal, ...(signal === undefined ? [] : [signal])];
    const token = params._meta?.progressToken;
    const context: ToolContext = {
      caller,
      services,
      sessionId,
      signal: AbortSignal.any(signals),
      progress(progress, total, message) {
        if (token === undefined) return;
        const notification = {
          method: 'notifications/progress',
          params: { progressToken: token, progress, total, message },
        } as const;
        extra
          .sendNotification(notification)
          .catch((error: unknown) => services.log.debug({ err: error }, 'progress not sent'));
      },
    };
    try {
      return await callTool(tool, params.arguments ?? {}, context, redact);
    } finally {
      call.end();
    }
  });
  return server;
}

async function callTool(
  tool: McpTool,
  given: Readonly<Record<string, unknown>>,
  context: ToolContext,
  redact: (text: string) => string,
): Promise<CallToolResult> {
  const { services, signal } = context;
  const began = performance.now();
  const record = (outcome: string) => {
    const ms = Math.round((performance.now() - began) * 10) / 10;
    services.log.info({ operation: `mcp ${tool.name}`, outcome, ms }, 'tool called');
  };
  const read = tool.input.safeParse(given);
  if (!read.success) {
    record('invalid_request');
    return failure(redact(describeProblems(read.error, given, 'arguments', tool.input)), 'invalid_request');
  }
  try {
    const { data, text, image } = await tool.run(read.data, context);
    record('ok');
    const picture = image === undefined ? [] : [{ type: 'image' as const, ...image }];
    return { content: [{ type: 'text', text: bounded(text) }, ...picture], structuredContent: data };
  } catch (error) {
    if (signal.aborted) throw error;
    const { body } = errorResponse(error, services.ids.request(), services.log, `mcp ${tool.name}`, redact);
    const { error: message, code } = JSON.parse(body as string) as ErrorBody;
    record(code);
    return failure(message, code);
  }
}

/** Of a result, in characters: about 8,000 tokens. */
const MOST_TEXT = 32_000;

/** Without its middle, if it is too long: the end of an output has the errors. */
function bounded(text: string): string {
  if (text.length <= MOST_TEXT) return text;
  const half = MOST_TEXT / 2;
  const left = text.length - MOST_TEXT;
  return `${text.slice(0, half)}\n… ${left} characters left out …\n${text.slice(-half)}`;
}

/** The code comes along for programs; the model has the message, which says what to do. */
function failure(message: string, code: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true, _meta: { 'porthole/code': code } };
}

function describe({ name, title, description, input, output, annotations }: McpTool): Tool {
  return {
    name,
    title,
    description,
    inputSchema: jsonSchema(input, 'input'),
    outputSchema: jsonSchema(output, 'output'),
    // A sandbox reaches what its owner allows.
    annotations: { ...annotations, openWorldHint: false },
  };
}

function jsonSchema(schema: z.ZodObject, io: 'input' | 'output'): Tool['inputSchema'] {
  const { $schema: _, ...plain } = z.toJSONSchema(schema, { io, metadata: new Descriptions() });
  return plain as Tool['inputSchema'];
}

/**
 * The names that schemas have in the API's own document would make references of them, which not
 * every client follows.
 */
class Descriptions extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  override get(schema: z.core.$ZodType) {
    const meta = z.globalRegistry.get(schema);
    return meta && { ...meta, id: undefined };
  }
}

/**
 * Clients are never asked for input, so nothing of theirs is to be validated; the default would
 * bring a compiler of schemas along.
 */
const NO_VALIDATOR = {
  getValidator: () => {
    throw new Error('nothing is asked of clients');
  },
};
