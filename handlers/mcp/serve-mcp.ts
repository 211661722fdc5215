/** The Model Context Protocol's server, loaded by the first request for it. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ReadableStream } from 'node:stream/web';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type CallToolResult,
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import { recordAgentConnected } from '#core/runs/agent-token.ts';
import { findRun } from '#core/runs/find-run.ts';
import { anySignal } from '#base/concurrency.ts';
import { describeProblems } from '../http/describe-problems.ts';
import type { ErrorBody, HttpResponse } from '../http/http-event.ts';
import { renderError } from '../http/render-errors.ts';
import { json, type RouteRequest, VERSION } from '../route.ts';
import type { Services } from '../services.ts';
import type { McpTool, ToolAnswer, ToolContext } from './mcp-tool.ts';
import { previewApp, readPreviewApp, SHOWN_IN_PREVIEW_APP } from './preview-app.ts';
import { isRunResource, readRunResource, RUN_RESOURCES } from './run-resources.ts';
import { decideApprovalTool, listApprovalsTool } from './tools/approvals-tool.ts';
import { inputSchemaOf, outputSchemaOf } from './tool-schemas.ts';
import { checkpointTool, compareForksTool, forkTool, restoreTool } from './tools/checkpoint-tools.ts';
import {
  editFileTool,
  listFilesTool,
  readFileTool,
  searchFilesTool,
  writeFileTool,
} from './tools/file-tools.ts';
import { readInboxTool, replyInboxTool } from './tools/inbox-tools.ts';
import { checkPageTool, lookAtPageTool } from './tools/page-tools.ts';
import { networkRequestsTool } from './tools/network-tool.ts';
import {
  doctorTool,
  listPreviewsTool,
  sharePreviewTool,
  startPreviewTool,
  stopPreviewTool,
} from './tools/preview-tools.ts';
import { runCodeTool } from './tools/run-code-tool.ts';
import { runCommandTool } from './tools/run-command-tool.ts';
import { startRunTool } from './tools/run-sandbox-tool.ts';
import {
  deleteServerTool,
  listProcessesTool,
  processOutputTool,
  restartServerTool,
  serverLogsTool,
  startServerTool,
  stopProcessTool,
} from './tools/servers-tool.ts';

/** All tools, in the order shown by clients. To add one, add it to a file of `tools` and here. */
export const TOOLS: readonly McpTool[] = [
  startRunTool,
  startPreviewTool,
  sharePreviewTool,
  stopPreviewTool,
  listPreviewsTool,
  doctorTool,
  checkPageTool,
  lookAtPageTool,
  readInboxTool,
  replyInboxTool,
  runCommandTool,
  runCodeTool,
  startServerTool,
  restartServerTool,
  deleteServerTool,
  serverLogsTool,
  listProcessesTool,
  processOutputTool,
  stopProcessTool,
  readFileTool,
  writeFileTool,
  editFileTool,
  listFilesTool,
  searchFilesTool,
  checkpointTool,
  restoreTool,
  forkTool,
  compareForksTool,
  networkRequestsTool,
  listApprovalsTool,
  decideApprovalTool,
];

type Request = Pick<
  RouteRequest<unknown, unknown, unknown>,
  'body' | 'caller' | 'headers' | 'signal' | 'redact'
>;

/** Interval of comments, in milliseconds, that keep proxies from closing a waiting call. */
const KEEP_ALIVE = 15_000;

const INSTRUCTIONS = (ofPages: string) =>
  'Porthole shows servers that run in sandboxes to people. Call start_run once, unless you have the token of an agent. Work in the sandbox of the run with run_command, read_file, edit_file, write_file, list_files and search_files; start a server there with ' +
  'start_server; then start_preview opens a live URL, which a person may have to approve. When a preview does not show the app, doctor says why' +
  `${ofPages}. read_inbox has what people wrote on the pages.`;

const OF_PAGES =
  '; check says whether the page works for a person, and what is broken: call it before you report a page as done';

const byName = new Map(TOOLS.map((tool) => [tool.name, tool]));

/** What clients see of the tools; each made once. */
const described = new Map<McpTool, Tool>();

/**
 * Describes all tools, one in each turn of the event loop: other requests do not wait for the first
 * call of a host.
 */
export async function prepareMcp(): Promise<void> {
  for (const tool of TOOLS) {
    describe(tool);
    await nextTurn();
  }
}

/**
 * Handles one request of the streamable HTTP transport, in version 2026-07-28 or, if it has no
 * envelope, up to 2025-11-25. Each request has a separate server, which knows its caller. The
 * session of `initialize` is not stored: it only distinguishes the clients of one key. A call ends
 * when its client disconnects, or by `notifications/cancelled` of 2025 in the same process.
 */
export async function serveMcp(request: Request, services: Services): Promise<HttpResponse> {
  const { caller, headers: given, signal } = request;
  const sessionId = given['mcp-session-id'];
  const messages: readonly unknown[] = Array.isArray(request.body) ? request.body : [request.body];
  for (const message of messages) {
    const { data } = Cancelled.safeParse(message);
    if (data !== undefined) cancelCall({ caller, sessionId, requestId: data.params.requestId });
  }
  if (caller.kind === 'agent') {
    const run = await findRun(services, caller, caller.runId, { agents: true });
    await recordAgentConnected(services, run);
  }
  const handler = createMcpHandler(() => createServer(request, services), {
    // A stream from the beginning: proxies close a connection that stays silent during a long call.
    responseMode: 'sse',
    keepAliveMs: KEEP_ALIVE,
    onerror: (error) => services.log.debug({ err: error }, 'mcp'),
  });
  const response = await handler.fetch(webRequest(given, signal), { parsedBody: request.body });
  const { 'content-type': type } = Object.fromEntries(response.headers);
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  if (messages.some((message) => Initialize.safeParse(message).success)) {
    headers['mcp-session-id'] = randomUUID();
  }
  if (type?.startsWith('text/event-stream') !== true) {
    return { statusCode: response.status, headers, body: await response.text() };
  }
  const stream = Readable.fromWeb(response.body as ReadableStream);
  if (!TAKES_STREAM.test(given['accept'] ?? '*/*')) {
    const answers = await answersOf(stream);
    const { 'content-type': _, ...others } = headers;
    return json(response.status, Array.isArray(request.body) ? answers : answers[0], others);
  }
  return {
    statusCode: response.status,
    headers: { ...headers, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' },
    body: Readable.from(withFirstByte(stream), { objectMode: false }),
  };
}

/** A comment first: proxies and clients with a time limit for the first byte keep a long call. */
async function* withFirstByte(stream: Readable): AsyncGenerator<Buffer> {
  yield Buffer.from(':\n\n');
  yield* stream as AsyncIterable<Buffer>;
}

const Answer = z.object({ id: z.unknown(), method: z.undefined().optional() });

/** What a stream answers, for a client that takes JSON only: without notifications. */
async function answersOf(stream: Readable): Promise<unknown[]> {
  const lines = (await text(stream)).split('\n').filter((line) => line.startsWith(DATA));
  const messages = lines.map((line) => JSON.parse(line.slice(DATA.length)) as unknown);
  return messages.filter((message) => Answer.safeParse(message).success);
}

/** The library writes a message as one line. */
const DATA = 'data: ';

const Cancelled = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: z.union([z.string(), z.number()]) }),
});
const Initialize = z.object({ method: z.literal('initialize'), params: z.object({}) });

/** The headers of the protocol, which version 2026-07-28 compares with the body. */
const NAMED = ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/** Media ranges (RFC 9110, section 12.5.1) that include an event stream. */
const TAKES_STREAM = /(?:^|[,\s])(?:text\/event-stream|text\/\*|\*\/\*)(?:[;,\s]|$)/i;
const TAKES_JSON = /(?:^|[,\s])application\/(?:json|\*)(?:[;,\s]|$)/i;

/** The parts of a request that the library reads: the body has been read already. */
function webRequest(headers: Request['headers'], signal: AbortSignal | undefined): globalThis.Request {
  const shown = NAMED.flatMap((name) => {
    const value = headers[name];
    // Some clients send an empty version.
    return value === undefined || value === '' ? [] : [[name, value] as [string, string]];
  });
  // The library takes only a header that lists both types.
  const { accept = '*/*' } = headers;
  const isKnown = TAKES_STREAM.test(accept) || TAKES_JSON.test(accept);
  const known = isKnown ? 'application/json, text/event-stream' : accept;
  return new globalThis.Request('http://porthole/mcp', {
    method: 'POST',
    headers: [['accept', known], ...shown],
    ...(signal !== undefined && { signal }),
  });
}

function createServer({ caller, headers, signal, redact }: Request, services: Services): Server {
  const server = new Server(
    { name: 'porthole', title: 'Porthole', version: VERSION },
    {
      capabilities: { tools: {}, resources: {} },
      instructions: INSTRUCTIONS(services.featuresOff.has('pages') ? '' : OF_PAGES),
      jsonSchemaValidator: NO_VALIDATOR,
    },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: toolsFor(caller, services).map((tool) => withPreviewPorts(describe(tool), services)),
  }));
  server.setRequestHandler('resources/list', () => ({ resources: [previewApp(services)] }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: RUN_RESOURCES }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }, { mcpReq }) => {
    if (!isRunResource(uri)) {
      return readPreviewApp(services, { uri: redact(uri), host: headers['host'] ?? '' });
    }
    const ends = anySignal(mcpReq.signal, signal);
    const sessionId = headers['mcp-session-id'];
    const host = headers['host'];
    const context = { caller, services, sessionId, host, signal: ends, waitsFor: () => undefined, redact };
    try {
      return await readRunResource(context, uri);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      if (ends.aborted) throw new ProtocolError(REQUEST_CANCELLED, 'Request cancelled');
      const { error: message } = bodyOf(error, services, 'mcp resource', redact);
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message, { uri: redact(uri.slice(0, 200)) });
    }
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const tool = byName.get(params.name);
    if (tool === undefined || !isOn(tool, services)) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no tool ${JSON.stringify(redact(params.name.slice(0, 60)))}: tools/list names them.`,
      );
    }
    const sessionId = headers['mcp-session-id'];
    const call = beginCall({ caller, sessionId, requestId: mcpReq.id });
    const progress = reportProgress(mcpReq, tool.title, services.log);
    const context: ToolContext = {
      caller,
      services,
      sessionId,
      host: headers['host'],
      signal: anySignal(call.signal, mcpReq.signal, signal),
      waitsFor: progress.waitsFor,
      redact,
    };
    try {
      const { whole, ...result } = await callTool(tool, params.arguments ?? {}, context, redact);
      // Earlier versions of the protocol have no links.
      const hasLinks = (headers['mcp-protocol-version'] ?? '') >= '2025-06-18';
      return hasLinks && whole !== undefined ? { ...result, content: [...result.content, whole] } : result;
    } finally {
      progress.end();
      call.end();
    }
  });
  return server;
}

/** The ports of previews are settings; another port is refused with the range. */
function withPreviewPorts(tool: Tool, { previewSettings }: Pick<Services, 'previewSettings'>): Tool {
  if (tool.name !== startPreviewTool.name) return tool;
  const { inputSchema } = tool;
  const { allowedPortMin: minimum, allowedPortMax: maximum } = previewSettings;
  const port = { ...(inputSchema.properties?.['port'] as object), minimum, maximum };
  return { ...tool, inputSchema: { ...inputSchema, properties: { ...inputSchema.properties, port } } };
}

function toolsFor(caller: Caller, services: Services): readonly McpTool[] {
  const isPerson = caller.kind === 'person' && caller.key?.scope !== 'agent';
  return TOOLS.filter((tool) => (isPerson || !tool.people) && isOn(tool, services));
}

function isOn({ feature }: McpTool, { featuresOff }: Pick<Services, 'featuresOff'>): boolean {
  return feature === undefined || !featuresOff.has(feature);
}

/** Progress interval in milliseconds: clients usually time out after a minute without progress. */
const PROGRESS_EVERY = 10_000;

/** Reports progress, in seconds, to a client that passed a `progressToken`, until `end`. */
function reportProgress({ _meta, notify }: ServerContext['mcpReq'], title: string, log: Services['log']) {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { waitsFor: () => undefined, end: () => undefined };
  const began = performance.now();
  let waiting: { readonly message: string; readonly total?: number } | undefined;
  const report = (): void => {
    const progress = Math.round(performance.now() - began) / 1_000;
    const message = `${title}: ${Math.round(progress)} s`;
    const params = { progressToken, progress, message, ...waiting };
    notify({ method: 'notifications/progress', params }).catch((error: unknown) =>
      log.debug({ err: error }, 'progress not sent'),
    );
  };
  const timer = setInterval(report, PROGRESS_EVERY).unref();
  const waitsFor: ToolContext['waitsFor'] = (message, total) => {
    waiting = { message, total };
    report();
  };
  return { waitsFor, end: () => clearInterval(timer) };
}

/** `RequestCancelled` of the Language Server Protocol: JSON-RPC and MCP define no code for it. */
const REQUEST_CANCELLED = -32_800;

async function callTool(
  tool: McpTool,
  given: Readonly<Record<string, unknown>>,
  context: ToolContext,
  redact: (text: string) => string,
): Promise<CallToolResult & Pick<ToolAnswer<unknown>, 'whole'>> {
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
    const { data, text, image, whole } = await tool.run(read.data, context);
    record('ok');
    const picture = image === undefined ? [] : [{ type: 'image' as const, ...image }];
    return { content: [{ type: 'text', text: bounded(text) }, ...picture], structuredContent: data, whole };
  } catch (error) {
    if (signal.aborted) throw new ProtocolError(REQUEST_CANCELLED, 'Request cancelled');
    const { error: message, code } = bodyOf(error, services, `mcp ${tool.name}`, redact);
    record(code);
    return failure(message, code);
  }
}

function bodyOf(
  error: unknown,
  { ids, log }: Services,
  operation: string,
  redact: (text: string) => string,
): ErrorBody {
  return renderError(error, ids.request(), log, operation, redact).body;
}

/** Limit of a result in characters: about 8,000 tokens. */
const MAX_TEXT_CHARS = 32_000;

/** Drops the middle if it is too long: errors are at the end of an output. */
function bounded(text: string): string {
  if (text.length <= MAX_TEXT_CHARS) return text;
  const half = MAX_TEXT_CHARS / 2;
  const left = text.length - MAX_TEXT_CHARS;
  return `${text.slice(0, half)}\n… ${left} characters left out …\n${text.slice(-half)}`;
}

/** The code is for programs; the model gets the message with the remedy. */
function failure(message: string, code: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true, _meta: { 'porthole/code': code } };
}

function describe(tool: McpTool): Tool {
  const made = described.get(tool) ?? descriptionOf(tool);
  described.set(tool, made);
  return made;
}

function descriptionOf({ name, title, description, input, output, annotations, isShown }: McpTool): Tool {
  return {
    ...(isShown && { _meta: SHOWN_IN_PREVIEW_APP }),
    name,
    title,
    description,
    inputSchema: inputSchemaOf(input),
    outputSchema: outputSchemaOf(output),
    // A sandbox reaches only what its owner allows.
    annotations: { ...withoutDefaults(annotations), openWorldHint: false },
  };
}

/** What the protocol assumes anyway, and each list of tools would repeat. */
function withoutDefaults({
  readOnlyHint,
  destructiveHint = true,
  idempotentHint = false,
}: McpTool['annotations']): Tool['annotations'] {
  return {
    readOnlyHint,
    ...(!destructiveHint && { destructiveHint }),
    ...(idempotentHint && { idempotentHint }),
  };
}

/**
 * Clients are never asked for input, so nothing is validated; the default would load a schema
 * compiler.
 */
const NO_VALIDATOR = {
  getValidator: () => {
    throw new Error('nothing is asked of clients');
  },
};

/** Identifies a client's call: caller, conversation, JSON-RPC id. */
interface CallName {
  readonly caller: Caller;
  /** `Mcp-Session-Id`, which clients repeat from their `initialize`. */
  readonly sessionId: string | undefined;
  readonly requestId: unknown;
}

const running = new Map<string, Set<AbortController>>();

/**
 * The running tool calls of this process, so that `notifications/cancelled`, a separate request,
 * can end the named one. The key includes the conversation, because clients with one key use the
 * same request ids. If two calls have the same key, neither is cancelled.
 */
function beginCall(name: CallName): { readonly signal: AbortSignal; end(): void } {
  const key = keyOf(name);
  const controller = new AbortController();
  const calls = running.get(key) ?? new Set();
  running.set(key, calls.add(controller));
  return {
    signal: controller.signal,
    end() {
      calls.delete(controller);
      if (calls.size === 0 && running.get(key) === calls) running.delete(key);
    },
  };
}

function cancelCall(name: CallName): void {
  const [call, other] = running.get(keyOf(name)) ?? [];
  if (other === undefined) call?.abort();
}

function keyOf({ caller, sessionId = '', requestId }: CallName): string {
  const who =
    caller.kind === 'person'
      ? [caller.org, caller.user]
      : caller.kind === 'agent'
        ? [caller.runId]
        : [caller.sandboxId, caller.delegationId];
  return JSON.stringify([caller.kind, ...who, sessionId, requestId]);
}
