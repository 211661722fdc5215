import { callPorthole, type ClientOptions, type Reply, type Request } from './porthole-client.ts';

/** A tool's result: text for the model, and data for programs. */
export interface ToolResult {
  /** For the model: what happened, and after a failure what to do next. */
  readonly text: string;
  readonly isError: boolean;
  /** On success: the API's response. */
  readonly data?: unknown;
  /**
   * On failure: Porthole's error code, e.g. `approval_denied`; absent if Porthole was not reached.
   */
  readonly code?: string;
}

/** A tool of an agent, in a form that every framework supports or can adapt. */
export interface PreviewTool {
  readonly name: 'start_preview' | 'stop_preview' | 'preview_status' | 'share_preview';
  readonly description: string;
  /** JSON Schema (draft 2020-12) of what the model supplies. */
  readonly inputSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, object>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
  /**
   * Rejects only when `signal` aborts: invalid input and Porthole's errors are results.
   */
  execute(input: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<ToolResult>;
}

export interface PreviewToolsOptions {
  /** The run that the agent works in. The model does not supply it and cannot reach another run. */
  readonly runId: string;
  /** `agent_token` of the response to `POST /api/runs`. Sent in one header, never in a text. */
  readonly agentToken: string;
  /** Where Porthole's API is, e.g. `http://127.0.0.1:8787`. */
  readonly baseUrl: string;
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * How often a call that waits for a person is renewed, in milliseconds: below what the strictest
   * proxy on the way allows.
   * @default 25,000
   */
  readonly renewMs?: number | undefined;
}

/** What the model supplies for a link, as the API takes it. */
const LINK = {
  label: { type: 'string', maxLength: 100, description: 'Whom the link is for.' },
  level: {
    enum: ['link', 'signed_in', 'org'],
    description:
      'Who may use it: everyone who has it (default), only who is signed in, or only the organisation.',
  },
  expires_in: { type: 'integer', minimum: 60, description: 'Seconds from now. Default: it does not end.' },
  max_uses: { type: 'integer', minimum: 1, description: 'How many visitors may come by it. Default: any.' },
  may_wake: { type: 'boolean', description: 'They may start the preview while it is stopped. Default: no.' },
};

const PORT = {
  type: 'integer',
  minimum: 1,
  maximum: 65_535,
  description: 'The port that the server listens on in the sandbox.',
};

/**
 * The tools with which an agent shows its server to people. The run is captured here: the model
 * supplies the port, and for a link whom it is for.
 *
 *     const tools = createPreviewTools({ runId, agentToken, baseUrl: 'http://127.0.0.1:8787' });
 *     const { text } = await tools[0].execute({ port: 3000 });
 */
export function createPreviewTools({
  runId,
  agentToken,
  baseUrl,
  fetch = globalThis.fetch,
  renewMs = 25_000,
}: PreviewToolsOptions): readonly [PreviewTool, PreviewTool, PreviewTool, PreviewTool] {
  const client: ClientOptions = { baseUrl, agentToken, fetch, renewMs };
  const sandbox = `api/runs/${encodeURIComponent(runId)}/sandbox`;
  const call = (request: Request, signal: AbortSignal | undefined) => callPorthole(client, request, signal);
  const list = (signal: AbortSignal | undefined) =>
    call({ method: 'GET', path: `${sandbox}/port-forward` }, signal);
  /** Why the port cannot be shown, in one sentence; empty if the doctor does not answer. */
  const advice = async (port: number, signal: AbortSignal | undefined): Promise<string> => {
    const reply = await call({ method: 'GET', path: `${sandbox}/doctor?port=${port}` }, signal);
    return reply.kind === 'answered' ? ` ${(reply.data as { advice: string }).advice}` : '';
  };

  return [
    {
      name: 'start_preview',
      description:
        'Show a server that runs in the sandbox to people: opens a live preview of its port and returns the URL. Start the server first. A person may have to approve it, which takes up to five minutes.',
      inputSchema: portInput('port'),
      execute: forPort(async (port, signal) => {
        const body = { target_port: port };
        const reply = await call({ method: 'POST', path: `${sandbox}/preview`, body, mayWait: true }, signal);
        if (reply.kind !== 'answered') return failure(reply);
        const preview = reply.data as StartedPreview;
        const where = `The preview of port ${port} is live at ${addressOf(preview)}`;
        const live = (text: string): ToolResult => ({
          text: `${where}${text}`,
          isError: false,
          data: preview,
        });
        if (preview.ready) return live('.');
        if (preview.reason === 'server_failed') {
          const log = (preview.log ?? []).map((line) => line.slice(0, 400)).join('\n');
          return live(`, but the server ${preview.server} failed. It printed last:\n${log}`);
        }
        const why = preview.problem === undefined ? await advice(port, signal) : ` ${preview.problem}`;
        return live(`, but does not show the app yet.${why}`);
      }),
    },
    {
      name: 'stop_preview',
      description:
        'End the preview of a port. Its URL stops working for good; starting the port again gives a new one.',
      inputSchema: portInput('port'),
      execute: forPort(async (port, signal) => {
        const reply = await list(signal);
        if (reply.kind !== 'answered') return failure(reply);
        const found = (reply.data as Preview[]).find(({ target_port }) => target_port === port);
        if (found === undefined)
          return { text: `Port ${port} has no live preview: nothing to stop.`, isError: false };
        const path = `${sandbox}/port-forward/${encodeURIComponent(found.session_id)}`;
        const stopped = await call({ method: 'DELETE', path }, signal);
        // Another caller, or an earlier call with a lost response, has stopped it.
        const isGone = stopped.kind === 'refused' && stopped.code === 'preview_not_found';
        if (stopped.kind !== 'answered' && !isGone) return failure(stopped);
        return { text: `The preview of port ${port} is stopped.`, isError: false };
      }),
    },
    {
      name: 'preview_status',
      description:
        'List the live previews of this run with their URLs. With a port: also find out whether the server there can be shown, and what to do if not.',
      inputSchema: portInput(),
      async execute(input, { signal } = {}) {
        const port = portOf(input);
        if (port === undefined && isObject(input) && input['port'] !== undefined) return NO_PORT;
        const reply = await list(signal);
        if (reply.kind !== 'answered') return failure(reply);
        const live = (reply.data as Preview[]).filter(
          ({ target_port }) => port === undefined || target_port === port,
        );
        const lines = live.map(
          (each) =>
            `Port ${each.target_port}: ${addressOf(each)}${each.expires_at === null ? '' : ` (until ${each.expires_at} unless it is used)`}.`,
        );
        if (lines.length === 0)
          lines.push(port === undefined ? 'No preview is live.' : `Port ${port} has no live preview.`);
        const found = port === undefined ? '' : await advice(port, signal);
        return { text: `${lines.join('\n')}${found}`, isError: false, data: live };
      },
    },
    {
      name: 'share_preview',
      description:
        'Make a link to the live preview of a port for someone who may not open it by its URL, and return the link. Start the preview first. A person may have to approve it, which takes up to five minutes.',
      inputSchema: {
        type: 'object',
        properties: { port: PORT, ...LINK },
        required: ['port', 'label'],
        additionalProperties: false,
      },
      async execute(input, { signal } = {}) {
        const port = portOf(input);
        if (port === undefined || !isObject(input)) return NO_PORT;
        const { port: _, ...body } = input;
        const path = `api/runs/${encodeURIComponent(runId)}/previews/${port}/share`;
        const reply = await call({ method: 'POST', path, body, mayWait: true }, signal);
        if (reply.kind !== 'answered') return failure(reply);
        const link = reply.data as { readonly url: string };
        return {
          text: `The link to the preview of port ${port}: ${link.url}`,
          isError: false,
          data: link,
        };
      },
    },
  ];
}

function portInput(...required: readonly 'port'[]): PreviewTool['inputSchema'] {
  return { type: 'object', properties: { port: PORT }, required, additionalProperties: false };
}

function forPort(
  work: (port: number, signal: AbortSignal | undefined) => Promise<ToolResult>,
): PreviewTool['execute'] {
  return async (input, { signal } = {}) => {
    const port = portOf(input);
    return port === undefined ? NO_PORT : work(port, signal);
  };
}

/** The part of the API's `PortForwardSession` that the tools read. */
interface Preview {
  readonly session_id: string;
  readonly target_port: number;
  readonly local_port: number;
  readonly preview_url: string | null;
  readonly expires_at: string | null;
}

interface StartedPreview extends Preview {
  readonly ready: boolean;
  readonly reason?: string;
  readonly problem?: string;
  readonly server?: string;
  readonly log?: readonly string[];
}

function addressOf({ preview_url, local_port }: Preview): string {
  // Never a bare loopback address: cookies know no ports, so the app would get the console's.
  return (
    preview_url ??
    `http://preview-${local_port}.localhost:${local_port}/ on the machine that Porthole runs on`
  );
}

const NO_PORT: ToolResult = {
  text: 'port must be a whole number from 1 to 65535: the port that the server listens on.',
  isError: true,
  code: 'invalid_port',
};

/** Models write numbers as text now and then. */
function portOf(input: unknown): number | undefined {
  const given = isObject(input) ? input['port'] : undefined;
  const port = typeof given === 'string' && /^\d{1,5}$/.test(given) ? Number(given) : given;
  return typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Remedies that error messages omit: unauthenticated callers get no details. */
const REMEDIES: Readonly<Record<string, string>> = {
  unauthorized:
    'The token of this agent is not good any more, most likely because its run has ended. Stop using these tools.',
};

function failure(reply: Exclude<Reply, { kind: 'answered' }>): ToolResult {
  if (reply.kind === 'unreachable') {
    return {
      text: `Porthole could not be reached (${reply.message}). Go on with other work, and try again later.`,
      isError: true,
    };
  }
  const { code, message } = reply;
  const remedy = REMEDIES[code];
  return {
    text: remedy === undefined ? message : `${message.replace(/\.?$/, '.')} ${remedy}`,
    isError: true,
    code,
  };
}
