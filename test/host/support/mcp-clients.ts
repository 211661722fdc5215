import {
  Client as Client2026,
  StreamableHTTPClientTransport as Http2026,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2026 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, expect } from '@jest/globals';
import { PREVIEW_TOKEN_PATTERN } from '#protocol/preview-words.ts';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';
import type { TestHost } from '#test/support/in-process-host.ts';

export const URL_IN = new RegExp(`http://${PREVIEW_TOKEN_PATTERN}-preview\\.localhost:\\d+`);

/** A client of 2025-11-25 from the library of that time, or one pinned to 2026-07-28. */
export type AnyClient = Client | Client2026;
export const PROTOCOLS = ['2025-11-25', '2026-07-28'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Progress notifications that a client receives during a long call. */
export type Progress = Parameters<NonNullable<RequestOptions['onprogress']>>[0];

export type McpClients = ReturnType<typeof mcpClients>;

/** The program for clients over stdio. */
export const MCP_STDIO = new URL('../../../host/mcp-stdio.ts', import.meta.url).pathname;

const NAME = { name: 'tests', version: '1.0.0' };
const client2026 = () => new Client2026(NAME, { versionNegotiation: { mode: { pin: '2026-07-28' } } });

/** Connects clients, and closes them after each test. */
export function mcpClients(porthole: () => TestHost) {
  const clients: AnyClient[] = [];
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });

  async function connected<T>(client: AnyClient & { connect(transport: T): Promise<void> }, transport: T) {
    await client.connect(transport);
    clients.push(client);
    return client;
  }

  async function overHttp(token: string, protocol?: '2025-11-25', headers?: object): Promise<Client>;
  async function overHttp(token: string, protocol: Protocol): Promise<AnyClient>;
  async function overHttp(
    token: string,
    protocol: Protocol = '2025-11-25',
    headers: object = {},
  ): Promise<AnyClient> {
    const url = new URL('/mcp', porthole().host.url);
    const options = { requestInit: { headers: { authorization: `Bearer ${token}`, ...headers } } };
    if (protocol === '2026-07-28') return connected(client2026(), new Http2026(url, options));
    return connected(new Client(NAME), new StreamableHTTPClientTransport(url, options));
  }

  async function overStdio(
    environment: Readonly<Record<string, string>>,
    protocol: Protocol = '2025-11-25',
  ): Promise<AnyClient> {
    const args = ['--disable-warning=ExperimentalWarning', MCP_STDIO];
    const command = { command: process.execPath, args, env: { ...COMPILE_CACHE, ...environment } };
    if (protocol === '2026-07-28') return connected(client2026(), new Stdio2026(command));
    return connected(new Client(NAME), new StdioClientTransport(command));
  }

  return { overHttp, overStdio };
}

export type ToolResult = CallToolResult & { readonly text: string };

export async function callTool(
  client: AnyClient,
  name: string,
  args: object = {},
  options: Pick<RequestOptions, 'onprogress' | 'signal'> = {},
): Promise<ToolResult> {
  const call = { name, arguments: { ...args } };
  const answer =
    client instanceof Client2026 ? client.callTool(call, options) : client.callTool(call, undefined, options);
  const result = (await answer) as CallToolResult;
  const [content] = result.content;
  return { ...result, text: content?.type === 'text' ? content.text : '' };
}

/** `[code, text]` of an error result. */
export function refusal({ isError, text, _meta, structuredContent }: ToolResult): unknown[] {
  expect([isError, structuredContent]).toEqual([true, undefined]);
  return [_meta?.['porthole/code'], text];
}
