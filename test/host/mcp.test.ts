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
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { PREVIEW_TOKEN_PATTERN } from '#core/previews/preview-token.ts';
import { ensureConsoleBuilt } from '#test/browser/support/console-fixture.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { readTimeline } from './support/approvals.ts';
import { execute, serve } from './support/commands.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE } from './support/people.ts';
import { type MadeRun, makeRun } from './support/runs.ts';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';

const URL_IN = new RegExp(`http://${PREVIEW_TOKEN_PATTERN}-preview\\.localhost:\\d+`);

let porthole: TestHost;
const clients: AnyClient[] = [];

/** A client of 2025-11-25 from the library of that time, or one pinned to 2026-07-28. */
type AnyClient = Client | Client2026;
const PROTOCOLS = ['2025-11-25', '2026-07-28'] as const;
type Protocol = (typeof PROTOCOLS)[number];

/** Progress notifications that a client receives during a long call. */
type Progress = Parameters<NonNullable<RequestOptions['onprogress']>>[0];

const NAME = { name: 'tests', version: '1.0.0' };
const client2026 = () => new Client2026(NAME, { versionNegotiation: { mode: { pin: '2026-07-28' } } });

async function overHttp(token: string): Promise<Client>;
async function overHttp(token: string, protocol: Protocol): Promise<AnyClient>;
async function overHttp(token: string, protocol: Protocol = '2025-11-25'): Promise<AnyClient> {
  const url = new URL('/mcp', porthole.host.url);
  const options = { requestInit: { headers: { authorization: `Bearer ${token}` } } };
  if (protocol === '2026-07-28') return connected(client2026(), new Http2026(url, options));
  return connected(new Client(NAME), new StreamableHTTPClientTransport(url, options));
}

async function overStdio(
  environment: Readonly<Record<string, string>>,
  protocol: Protocol = '2025-11-25',
): Promise<AnyClient> {
  const script = new URL('../../host/mcp-stdio.ts', import.meta.url).pathname;
  const args = ['--disable-warning=ExperimentalWarning', script];
  const command = { command: process.execPath, args, env: { ...COMPILE_CACHE, ...environment } };
  if (protocol === '2026-07-28') return connected(client2026(), new Stdio2026(command));
  return connected(new Client(NAME), new StdioClientTransport(command));
}

async function connected<T>(client: AnyClient & { connect(transport: T): Promise<void> }, transport: T) {
  await client.connect(transport);
  clients.push(client);
  return client;
}

async function callTool(
  client: AnyClient,
  name: string,
  args: Record<string, unknown>,
  options: Pick<RequestOptions, 'onprogress' | 'signal'> = {},
): Promise<CallToolResult & { text: string }> {
  const call = { name, arguments: args };
  const answer =
    client instanceof Client2026 ? client.callTool(call, options) : client.callTool(call, undefined, options);
  const result = (await answer) as CallToolResult;
  const [content] = result.content;
  return { ...result, text: content?.type === 'text' ? content.text : '' };
}

/** `[code, text]` of an error result. */
function refusal({ isError, text, _meta, structuredContent }: CallToolResult & { text: string }): unknown[] {
  expect([isError, structuredContent]).toEqual([true, undefined]);
  return [_meta?.['porthole/code'], text];
}

beforeAll(async () => {
  // Only the texts of the tools: test/browser/look covers those with a page.
  porthole = await startTestHost({ ...PEOPLE, PORTHOLE_BROWSER: '/nonexistent/chromium' });
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});
afterAll(() => porthole.end());

describe('an MCP client', () => {
  let run: MadeRun;
  beforeAll(async () => {
    run = await makeRun(porthole, ALICE, { auto_approve_tools: true });
  });

  /** Calls a tool, and cancels the call once `began` holds. */
  const cancel = async (client: AnyClient, name: string, args: object, began: () => Promise<boolean>) => {
    const cancelling = new AbortController();
    const calling = callTool(client, name, { ...args }, { signal: cancelling.signal });
    const outcome = calling.then(
      () => 'answered',
      () => 'cancelled',
    );
    while (!(await began())) await new Promise((resolve) => setTimeout(resolve, 20));
    cancelling.abort('no longer needed');
    expect(await outcome).toBe('cancelled');
  };
  /** Whether a file exists in the sandbox. */
  const isThere = async (file: string) =>
    (await porthole.call('GET', `/v1/sandbox/${run.sandboxId}/file/workspace/${file}`, { token: ALICE }))
      .status === 200;
  const until = async (holds: () => Promise<boolean>) => {
    while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  test.each(PROTOCOLS)('cancels a command, which then ends, and no other, in %s', async (protocol) => {
    const [one, two] = [await overHttp(ALICE, protocol), await overHttp(ALICE, protocol)];
    // Their requests have the same ids, but they are two conversations with one key.
    const other = callTool(two, 'run_command', {
      run_id: run.runId,
      command: `until [ -e go-${protocol} ]; do sleep 0.05; done; echo done`,
    });
    const endless = { run_id: run.runId, command: `touch a-${protocol}; exec sleep 4242` };
    await cancel(one, 'run_command', endless, () => isThere(`a-${protocol}`));
    await until(
      async () =>
        (await execute(porthole, run.sandboxId, ['pgrep', '-xf', 'sleep 4242'], { token: ALICE }))
          .exitCode === 1,
    );
    await callTool(two, 'write_file', { run_id: run.runId, path: `go-${protocol}`, content: '' });
    expect((await other).structuredContent).toMatchObject({ exit_code: 0, stdout: 'done\n' });
  });

  test.each(PROTOCOLS)(
    'cancels what waits for approval, which is then withdrawn, in %s',
    async (protocol) => {
      const own = await makeRun(porthole, ALICE);
      const types = async () => (await readTimeline(porthole, own.runId, ALICE)).map(({ type }) => type);
      const has = (type: string) => async () => (await types()).includes(type);
      const client = await overHttp(own.agentToken, protocol);
      await cancel(client, 'start_preview', { run_id: own.runId, port: 3000 }, has('tool.approval_required'));
      await until(has('tool.withdrawn'));
    },
  );

  test('cancels no call of a client with another key', async () => {
    const own = await makeRun(porthole, ALICE);
    const client = await overHttp(own.agentToken);
    const calling = callTool(client, 'run_command', {
      run_id: own.runId,
      command: 'until [ -e go ]; do sleep 0.05; done; echo done',
    });
    const headers = { accept: 'application/json, text/event-stream' };
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled' };
    for (const requestId of [1, 2, 3]) {
      const body = { ...cancelled, params: { requestId } };
      expect((await porthole.call('POST', '/mcp', { token: BOB, headers, body })).status).toBe(202);
    }
    await callTool(client, 'write_file', { path: 'go', content: '' });
    expect((await calling).structuredContent).toMatchObject({ stdout: 'done\n' });
  });

  test.each(PROTOCOLS)('lists the tools, each with its input and output schema, in %s', async (protocol) => {
    const client = await overHttp(ALICE, protocol);
    expect(client.getServerVersion()).toMatchObject({ name: 'porthole', title: 'Porthole' });
    expect(client.getInstructions()).toMatch(/start_preview opens a live URL/);
    const { tools } = await client.listTools();
    expect(tools.map(({ name, inputSchema: { required } }) => [name, required])).toEqual([
      ['start_run', undefined],
      ['start_preview', ['port']],
      ['stop_preview', ['port']],
      ['list_previews', undefined],
      ['doctor', undefined],
      ['check', ['port']],
      ['look', ['port']],
      ['read_inbox', undefined],
      ['reply_inbox', ['message_id', 'text']],
      ['run_command', ['command']],
      ['start_server', ['name', 'command']],
      ['server_logs', ['name']],
      ['list_processes', undefined],
      ['process_output', ['process_id']],
      ['stop_process', undefined],
      ['read_file', ['path']],
      ['write_file', ['path', 'content']],
      ['edit_file', ['path', 'old_text', 'new_text']],
      ['list_files', undefined],
      ['search_files', undefined],
      ['network_requests', undefined],
      ['list_approvals', undefined],
      ['decide_approval', ['run_id', 'request_id', 'decision']],
    ]);
    for (const { inputSchema, outputSchema, description, annotations } of tools) {
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(outputSchema).toMatchObject({ type: 'object' });
      expect(JSON.stringify([inputSchema, outputSchema])).not.toMatch(/\$ref|"id":/);
      expect(description?.length).toBeGreaterThan(40);
      expect(annotations?.openWorldHint).toBe(false);
    }
    expect(tools[1]?.inputSchema.properties?.['port']).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 65_535,
      description: 'The port that the server listens on in the sandbox',
    });
  });

  test.each(
    PROTOCOLS.flatMap((protocol): [string, Protocol, () => Promise<AnyClient>][] => [
      ['over HTTP', protocol, () => overHttp(ALICE, protocol)],
      ['as the agent of the run, over HTTP', protocol, () => overHttp(run.agentToken, protocol)],
      [
        'as the agent of the run, over stdio',
        protocol,
        () => overStdio({ PORTHOLE_URL: porthole.host.url, PORTHOLE_TOKEN: run.agentToken }, protocol),
      ],
    ]),
  )('works in a sandbox and shows its server, %s, in %s', async (how, protocol, connect) => {
    const client = await connect();
    await client.listTools();
    const run_id = run.runId;
    const folder = `site-${how.length}-${protocol}`;
    const wrote = await callTool(client, 'write_file', {
      run_id,
      path: `${folder}/index.html`,
      content: '<title>Hällo</title>',
    });
    expect(wrote).toMatchObject({
      text: `Wrote 21 bytes to ${folder}/index.html.`,
      structuredContent: { size: 21 },
    });
    expect(
      await callTool(client, 'read_file', { run_id, path: `/workspace/${folder}/index.html` }),
    ).toMatchObject({
      text: '<title>Hällo</title>',
      structuredContent: { content: '<title>Hällo</title>', encoding: 'utf-8', size: 21 },
    });
    expect(await callTool(client, 'list_files', { run_id, path: folder })).toMatchObject({
      text: 'index.html (21 bytes)',
      structuredContent: { entries: [{ name: 'index.html', kind: 'file', size: 21 }], is_cut: false },
    });
    const port = 3000 + how.length + 100 * PROTOCOLS.indexOf(protocol);
    const served = await callTool(client, 'run_command', {
      run_id,
      cwd: folder,
      command: `(python3 -m http.server ${port} --bind 127.0.0.1 >/dev/null 2>&1 &); for n in 1 2 3 4 5 6 7 8 9; do curl -s -o /dev/null localhost:${port} && break; sleep 0.2; done; echo up; echo note >&2`,
    });
    expect(served).toMatchObject({
      text: 'up\n\nstderr:\nnote\n\n[exit code 0]',
      structuredContent: {
        exit_code: 0,
        stdout: 'up\n',
        stderr: 'note\n',
        timed_out: false,
        left_out_bytes: 0,
      },
    });
    const examined = await callTool(client, 'doctor', { run_id, port });
    expect(examined.text).toBe(
      `Port ${port}: Python http.server answers on port ${port}: a preview of it works.`,
    );
    expect(examined.structuredContent).toMatchObject({
      ports: [{ port, ready: true, framework: 'Python http.server' }],
    });
    const started = await callTool(client, 'start_preview', { run_id, port });
    const url = URL_IN.exec(started.text)?.[0];
    expect(started).toMatchObject({
      text: `The preview of port ${port} is live at ${url}.`,
      structuredContent: { preview_url: url, target_port: port, ready: true },
    });
    const listed = await callTool(client, 'list_previews', { run_id });
    expect(listed.text).toContain(`Port ${port}: ${url} (until `);
    expect(listed.structuredContent).toMatchObject({ previews: [{ preview_url: url }] });
    expect(await callTool(client, 'stop_preview', { run_id, port })).toMatchObject({
      text: `The preview of port ${port} is stopped.`,
      structuredContent: { port, stopped: true },
    });
    expect((await callTool(client, 'list_previews', { run_id })).text).toBe('No preview is live.');
  });

  test('hears from the doctor why a preview does not show the app', async () => {
    const client = await overHttp(ALICE);
    const started = await callTool(client, 'start_preview', { run_id: run.runId, port: 8999 });
    expect(started.text).toMatch(
      /is live at http\S+, but does not show the app yet\. Nothing listens on port 8999/,
    );
    expect(started.structuredContent).toMatchObject({ ready: false, reason: 'nothing_listens' });
    await callTool(client, 'stop_preview', { run_id: run.runId, port: 8999 });
  });

  test('gets the beginning and the end of long output, and never all of it', async () => {
    const client = await overHttp(ALICE);
    const { structuredContent } = await callTool(client, 'run_command', {
      run_id: run.runId,
      command: 'echo first; head -c 3000000 /dev/zero | tr "\\0" x; echo; echo last',
    });
    const { stdout, left_out_bytes } = structuredContent as { stdout: string; left_out_bytes: number };
    expect(stdout).toMatch(/^first\nx+\n… \d+ bytes left out …\nx+\nlast\n$/);
    expect(stdout.length).toBeLessThan(17_000);
    expect(left_out_bytes).toBe(3_000_012 - 16_384);
  });

  test('reads a long file in parts that end between characters', async () => {
    const client = await overHttp(run.agentToken);
    const content = 'ä'.repeat(20_000);
    await callTool(client, 'write_file', { path: 'long', content: `x${content}` });
    const parts: string[] = [];
    for (let offset: number | null = 0; offset !== null; ) {
      const part = await callTool(client, 'read_file', { path: 'long', offset });
      const data = part.structuredContent as { content: string; size: number; next_offset: number | null };
      expect(part.text.length).toBeLessThan(32_000);
      expect(data.size).toBe(40_001);
      parts.push(data.content);
      offset = data.next_offset;
    }
    expect(parts).toHaveLength(2);
    expect(parts.join('')).toBe(`x${content}`);
  });

  test('cuts a long text in its middle, and answers with an object', async () => {
    const client = await overHttp(run.agentToken);
    const print = `head -c 16000 /dev/zero | tr '\\0' x`;
    const command = `${print}; ${print} >&2; echo end >&2`;
    const { text, structuredContent } = await callTool(client, 'run_command', { command });
    expect(text.length).toBeLessThan(32_100);
    expect(text).toMatch(/^x+\n… \d+ bytes left out …\n(?:.|\n)*end\n\n\[exit code 0\]$/);
    expect(structuredContent).toMatchObject({ exit_code: 0 });
  });

  test.each(PROTOCOLS)('reads the rest of a long result as a resource, in %s', async (protocol) => {
    const own = await makeRun(porthole, ALICE);
    const client = await overHttp(own.agentToken, protocol);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'porthole://runs/{run_id}/files/{+path}',
      'porthole://runs/{run_id}/commands/{id}',
      'porthole://runs/{run_id}/processes/{process_id}',
    ]);
    const linkOf = async (name: string, args: object) => {
      const { content } = await callTool(client, name, { ...args });
      const link = content.find(({ type }) => type === 'resource_link');
      return link?.type === 'resource_link' ? link.uri : undefined;
    };
    const read = async (uri: string | undefined, by: AnyClient = client) => {
      const { contents } = await by.readResource({ uri: uri ?? '' });
      return contents[0];
    };
    const numbers = `${Array.from({ length: 8_000 }, (_, at) => at + 1).join('\n')}\n`;
    const command = await linkOf('run_command', { command: 'seq 8000 | tee "é 1"', cwd: '/workspace' });
    expect(await read(command)).toMatchObject({ mimeType: 'text/plain', text: numbers });
    const file = await linkOf('read_file', { path: '/workspace/é 1' });
    expect(file).toBe(`porthole://runs/${own.runId}/files/%C3%A9%201`);
    expect(await read(file)).toMatchObject({ uri: file, text: numbers });
    const started = await porthole.call('POST', `/v1/sandbox/${own.sandboxId}/processes`, {
      token: ALICE,
      body: { command: 'seq 100000' },
    });
    const { id } = started.json<{ id: string }>();
    await porthole.call('POST', `/v1/sandbox/${own.sandboxId}/processes/${id}/wait`, {
      token: ALICE,
      body: {},
    });
    const process = await linkOf('process_output', { process_id: id });
    expect(await read(process)).toMatchObject({
      text: expect.stringMatching(/^1\n2\n(?:.|\n)*\n… \d+ bytes left out …\n(?:.|\n)*\n100000\n$/),
    });
    await callTool(client, 'write_file', { path: 'bytes', content: '/wA=', encoding: 'base64' });
    expect(await read(`porthole://runs/${own.runId}/files/bytes`)).toMatchObject({ blob: '/wA=' });
    // A whole result has no link.
    expect(await linkOf('run_command', { command: 'echo short' })).toBeUndefined();

    await expect(read(file, await overHttp(BOB, protocol))).rejects.toThrow(/is not yours/);
    const refused: [string, RegExp][] = [
      [`porthole://runs/${own.runId}/files/nowhere`, /File not found/],
      [`porthole://runs/${own.runId}/files/..%2F..%2Fetc%2Fpasswd`, /within \/workspace/],
      [`porthole://runs/${own.runId}/files/%`, /names no resource/],
      [`porthole://runs/${own.runId}/commands/${'0'.repeat(32)}`, /Nothing is kept under this id/],
      [`porthole://runs/${own.runId}/previews/1`, /names no resource/],
    ];
    for (const [uri, message] of refused) await expect(read(uri)).rejects.toThrow(message);
  });

  test('bounds the JSON of results with control characters', async () => {
    const client = await overHttp(run.agentToken);
    const print = "head -c 20000 /dev/zero | tr '\\0' '\\1'";
    const names =
      'mkdir -p ctl && cd ctl && for n in $(seq 300); do : >"$n$(printf %100s | tr " " "\\1")"; done';
    await callTool(client, 'run_command', { command: `${print} >control; ${names}` });
    const attempts: [string, object][] = [
      ['run_command', { command: `${print}; ${print} >&2` }],
      ['read_file', { path: 'control' }],
      ['list_files', { path: 'ctl' }],
    ];
    for (const [name, args] of attempts) {
      const { structuredContent } = await callTool(client, name, { ...args });
      const { length } = JSON.stringify(structuredContent);
      expect([name, length > 10_000, length < 32_000]).toEqual([name, true, true]);
    }
  });

  test('connects anew after its token is rotated, which ends the earlier one', async () => {
    const own = await makeRun(porthole, ALICE);
    const connections = async () =>
      (await readTimeline(porthole, own.runId, ALICE)).filter(({ type }) => type === 'agent.connected');
    expect(await connections()).toHaveLength(0);
    await overHttp(own.agentToken);
    await overHttp(own.agentToken);
    expect(await connections()).toHaveLength(1);
    const rotate = (token: string) => porthole.call('POST', `/api/runs/${own.runId}/agent-token`, { token });
    expect((await rotate(own.agentToken)).status).toBe(403);
    expect((await rotate(BOB)).status).toBe(403);
    // What was begun with the earlier token is cut.
    const command = await fetch(new URL(`/v1/sandbox/${own.sandboxId}/exec`, porthole.host.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${own.agentToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ argv: ['sleep', '300'] }),
    });
    const cut = expect(command.text()).rejects.toThrow('terminated');
    const { agent_token: token } = (await rotate(ALICE)).json<{ agent_token: string }>();
    await cut;
    await expect(overHttp(own.agentToken)).rejects.toThrow(/Unauthorized|401/);
    const client = await overHttp(token);
    expect((await callTool(client, 'start_run', {})).structuredContent).toMatchObject({ run_id: own.runId });
    expect(await connections()).toHaveLength(2);
    // The command inside the sandbox has a separate token.
    const inside = await execute(porthole, own.sandboxId, ['porthole', 'status'], { token: ALICE });
    expect(inside.exitCode).toBe(0);
    await porthole.call('POST', `/api/runs/${own.runId}/complete`, { token: ALICE });
    expect((await rotate(ALICE)).status).toBe(409);
  });

  test('works in the run of its agent token, or of its session, without run_id', async () => {
    const agent = await overHttp(run.agentToken);
    expect((await callTool(agent, 'start_run', {})).structuredContent).toEqual({
      run_id: run.runId,
      sandbox_id: run.sandboxId,
      is_new: false,
    });
    const person = await overHttp(ALICE);
    expect(refusal(await callTool(person, 'list_files', {}))).toEqual([
      'invalid_request',
      'run_id: this session has no run. Call start_run first, or pass the run_id of a run.',
    ]);
    const started = await callTool(person, 'start_run', { title: 'From a chat' });
    const { run_id: id, sandbox_id: sandbox } = started.structuredContent as Record<string, string>;
    expect(started.structuredContent).toMatchObject({ is_new: true });
    await callTool(person, 'write_file', { path: 'mine', content: 'x' });
    expect((await callTool(person, 'list_files', {})).text).toContain('mine (1 bytes)');
    expect((await callTool(person, 'start_run', {})).structuredContent).toEqual({
      run_id: id,
      sandbox_id: sandbox,
      is_new: false,
    });
    expect((await porthole.call('GET', `/api/runs/${id}`, { token: ALICE })).json()).toMatchObject({
      title: 'From a chat',
      auto_approve_tools: false,
    });

    // Another session, and another user with the same session id, have no run.
    const headers = { 'mcp-session-id': person.transport?.sessionId ?? '' };
    const stranger = new Client({ name: 'tests', version: '1.0.0' });
    await stranger.connect(
      new StreamableHTTPClientTransport(new URL('/mcp', porthole.host.url), {
        requestInit: { headers: { authorization: `Bearer ${BOB}`, ...headers } },
      }),
    );
    clients.push(stranger);
    for (const other of [await overHttp(ALICE), stranger])
      expect(refusal(await callTool(other, 'list_files', {}))[0]).toBe('invalid_request');

    await porthole.call('POST', `/api/runs/${id}/complete`, { token: ALICE });
    const again = await Promise.all([callTool(person, 'start_run', {}), callTool(person, 'start_run', {})]);
    for (const { structuredContent } of again)
      expect(structuredContent).toMatchObject({ sandbox_id: sandbox });
    expect((await callTool(person, 'list_files', {})).text).toContain('mine (1 bytes)');
  });

  test('edits a file where the text is in it once, or everywhere', async () => {
    const client = await overHttp(run.agentToken);
    const edit = (more: object) => callTool(client, 'edit_file', { path: 'edited', ...more });
    await callTool(client, 'write_file', { path: 'edited', content: 'a = 1\nb = 1\n' });
    expect(refusal(await edit({ old_text: '= 1', new_text: '= $&' }))[1]).toMatch(/contains it 2 times/);
    expect(refusal(await edit({ old_text: 'c', new_text: '' }))[1]).toMatch(/does not contain it/);
    expect((await edit({ old_text: 'b = 1', new_text: 'b = $&' })).structuredContent).toEqual({
      path: 'edited',
      replacements: 1,
    });
    await edit({ old_text: ' = ', new_text: ': ', replace_all: true });
    expect((await callTool(client, 'read_file', { path: 'edited' })).text).toBe('a: 1\nb: $&\n');
  });

  test('finds files by name, and lines by a regular expression', async () => {
    const client = await overHttp(run.agentToken);
    const files = ['src/a.ts', 'src/deep/b.ts', 'src/c.js', 'node_modules/x/d.ts'];
    for (const path of files)
      await callTool(client, 'write_file', { path: `found/${path}`, content: `one\nfind: ${path}\n` });
    const search = async (args: object) => {
      const { text } = await callTool(client, 'search_files', { path: 'found', ...args });
      return text.split('\n').toSorted();
    };
    expect(await search({ glob: '*.ts' })).toEqual(['src/a.ts', 'src/deep/b.ts']);
    expect(await search({ glob: 'src/*.{ts,js}' })).toEqual(['src/a.ts', 'src/c.js']);
    expect(await search({ glob: 'src/**/*.ts' })).toEqual(['src/a.ts', 'src/deep/b.ts']);
    expect(await search({ pattern: '^FIND: .*js$', ignore_case: true })).toEqual([
      'src/c.js:2: find: src/c.js',
    ]);
    expect(await search({ pattern: 'nowhere' })).toEqual(['Nothing matches.']);
    const invalid = await callTool(client, 'search_files', { path: 'found', pattern: '(' });
    expect(refusal(invalid)).toEqual([
      'invalid_request',
      expect.stringMatching(/^pattern: Invalid regular expression/),
    ]);
    expect((await callTool(client, 'search_files', { path: 'found' })).text).toContain('src/c.js');
    await callTool(client, 'run_command', { command: 'seq 100000 >found/long' });
    const long = await callTool(client, 'search_files', { path: 'found', pattern: '[0-9]' });
    expect(long.structuredContent).toMatchObject({ is_cut: true });
    expect(JSON.stringify(long.structuredContent).length).toBeLessThan(32_000);
  });

  test.each([
    ['glob', `${'*a'.repeat(6)}b`],
    ['pattern', '^(a+)+$'],
  ])('refuses a %s that takes exponential time', async (field, expression) => {
    const client = await overHttp(run.agentToken);
    const name = 'a'.repeat(200);
    await callTool(client, 'write_file', { path: `slow/${name}`, content: `${name}!` });
    const refused = refusal(await callTool(client, 'search_files', { path: 'slow', [field]: expression }));
    expect(refused).toEqual([
      'invalid_request',
      `${field}: it takes too long: Make it simpler: fewer repetitions.`,
    ]);
  });

  test('starts a server, sees its port, and stops it', async () => {
    const client = await overHttp(run.agentToken);
    const command = 'exec python3 -m http.server 4567 --bind 127.0.0.1';
    await callTool(client, 'start_server', { name: 'seen', command, port: 4567 });
    await callTool(client, 'start_preview', { port: 4567, check: false });
    expect((await callTool(client, 'list_processes', {})).structuredContent).toMatchObject({
      servers: [{ name: 'seen', state: 'ready' }],
      ports: expect.arrayContaining([expect.objectContaining({ port: 4567, server: 'seen' })]),
    });
    expect((await callTool(client, 'stop_process', { name: 'seen' })).text).toMatch(/^seen is stop/);
    const neither = refusal(await callTool(client, 'stop_process', {}));
    expect(neither).toEqual(['invalid_request', expect.stringMatching(/pass one of them/)]);
    await callTool(client, 'stop_preview', { port: 4567 });
  });

  test('reads the end of what a process printed', async () => {
    const client = await overHttp(run.agentToken);
    const path = `/v1/sandbox/${run.sandboxId}/processes`;
    const body = { command: 'seq 100000; echo failed >&2; exit 3' };
    const { id } = (await porthole.call('POST', path, { token: ALICE, body })).json<{ id: string }>();
    await porthole.call('POST', `${path}/${id}/wait`, { token: ALICE, body: {} });
    const { structuredContent, text } = await callTool(client, 'process_output', { process_id: id });
    expect(structuredContent).toMatchObject({ state: 'exited' });
    expect(text).toMatch(/^\[exited\]\n99802\n(?:.|\n)*\n100000\nfailed$/);
  });

  test('reads what the sandbox may reach and has tried, and never all of a long list', async () => {
    const client = await overHttp(run.agentToken);
    const { structuredContent } = await callTool(client, 'network_requests', {});
    expect(structuredContent).toMatchObject({ network: expect.any(String), is_cut: false });
    const long = await makeRun(porthole, ALICE);
    const paths = [`/${'x'.repeat(400)}`];
    const rules = Array.from({ length: 200 }, (_, at) => ({ host: `host${at}.example.com`, paths }));
    const body = { allow: rules, deny: rules };
    const changed = await porthole.call('PATCH', `/v1/sandbox/${long.sandboxId}`, { token: ALICE, body });
    expect(changed.status).toBe(200);
    const cut = await callTool(await overHttp(long.agentToken), 'network_requests', {});
    expect(cut.structuredContent).toMatchObject({ is_cut: true, allow: rules.slice(0, 22) });
    expect(JSON.stringify(cut.structuredContent).length).toBeLessThan(32_000);
  });

  test('has no session in 2026-07-28: a person passes the run_id of the new run', async () => {
    const client = await overHttp(ALICE, '2026-07-28');
    const { structuredContent, text } = await callTool(client, 'start_run', {});
    const { run_id } = structuredContent as { run_id: string };
    expect(text).toMatch(/Pass its run_id to the other tools\.$/);
    expect((await callTool(client, 'list_files', { run_id })).text).toBe('outputs/');
    expect(refusal(await callTool(client, 'list_files', {}))[0]).toBe('invalid_request');
  });

  test.each(PROTOCOLS)('hears how long a call takes, in %s', async (protocol) => {
    const client = await overHttp(ALICE, protocol);
    const heard = Promise.withResolvers<Progress>();
    const cancelling = new AbortController();
    const running = callTool(
      client,
      'run_command',
      { run_id: run.runId, command: 'sleep 60' },
      { onprogress: heard.resolve, signal: cancelling.signal },
    ).catch(() => 'cancelled');
    const { progress, total, message } = await heard.promise;
    expect([Math.round(progress), total, message]).toEqual([10, undefined, 'Run a command: 10 s']);
    cancelling.abort();
    expect(await running).toBe('cancelled');
  });

  test.each(PROTOCOLS)('reads the page that chats show for previews, in %s', async (protocol) => {
    ensureConsoleBuilt();
    const client = await overHttp(run.agentToken, protocol);
    const { tools } = await client.listTools();
    const uri = 'ui://porthole/preview.html';
    const shown = tools.filter(({ _meta }) => _meta !== undefined).map(({ name, _meta }) => [name, _meta]);
    expect(shown).toEqual(
      ['start_preview', 'look'].map((name) => [name, { ui: { resourceUri: uri }, 'ui/resourceUri': uri }]),
    );
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([{ uri, mimeType: 'text/html;profile=mcp-app' }]);
    const { contents } = await client.readResource({ uri });
    expect(contents).toMatchObject([
      {
        uri,
        mimeType: 'text/html;profile=mcp-app',
        _meta: { ui: { csp: { frameDomains: ['http://*.localhost:*'] } } },
      },
    ]);
    const [{ text }] = contents as unknown as [{ text: string }];
    expect(text).toContain(`<meta name="porthole-url" content="${new URL(porthole.host.url).origin}" />`);
    expect(text).toContain('<meta name="porthole-zone" content="localhost" />');
    expect(text.length).toBeLessThan(16_000);
    await expect(client.readResource({ uri: 'ui://porthole/other' })).rejects.toThrow(
      'There is no resource "ui://porthole/other": resources/list names them.',
    );
  });

  test('has a command ended that takes too long', async () => {
    const client = await overHttp(ALICE);
    const slow = await callTool(client, 'run_command', {
      run_id: run.runId,
      command: 'echo begun; sleep 100',
      timeout_seconds: 0.3,
    });
    expect(slow).toMatchObject({
      text: 'begun\n\n[ended after 0.3 s, its time limit]',
      structuredContent: { exit_code: 124, timed_out: true },
    });
  });

  test('reads and writes bytes that are no text as base64', async () => {
    const client = await overHttp(ALICE);
    const content = Buffer.from([0xff, 0, 0xfe]).toString('base64');
    const path = 'bytes';
    await callTool(client, 'write_file', { run_id: run.runId, path, content, encoding: 'base64' });
    expect((await callTool(client, 'read_file', { run_id: run.runId, path })).structuredContent).toEqual({
      content,
      encoding: 'base64',
      size: 3,
      next_offset: null,
    });
  });

  test('sees folders, links and odd names in a listing', async () => {
    const client = await overHttp(ALICE);
    await callTool(client, 'run_command', {
      run_id: run.runId,
      command: `mkdir -p odd/sub odd/.hidden && cd odd && printf 12345 >"$(printf 'two\\nlines')" && printf 1 >-dash && ln -s /etc/passwd link && ln -s /etc outside && mkfifo pipe && touch 'a b' ..dots`,
    });
    const { structuredContent, text } = await callTool(client, 'list_files', {
      run_id: run.runId,
      path: 'odd',
    });
    expect(structuredContent).toEqual({
      entries: [
        { name: '-dash', kind: 'file', size: 1 },
        { name: '..dots', kind: 'file', size: 0 },
        { name: '.hidden', kind: 'folder', size: null },
        { name: 'a b', kind: 'file', size: 0 },
        { name: 'link', kind: 'link', size: null },
        { name: 'outside', kind: 'link', size: null },
        { name: 'pipe', kind: 'other', size: null },
        { name: 'sub', kind: 'folder', size: null },
        { name: 'two\nlines', kind: 'file', size: 5 },
      ],
      is_cut: false,
    });
    expect(text.split('\n')).toHaveLength(9);
  });

  test('gets refusals that say what to do', async () => {
    const client = await overHttp(ALICE);
    const run_id = run.runId;
    const other = await makeRun(porthole, BOB);
    const attempts: [string, Record<string, unknown>, unknown[]][] = [
      [
        'start_preview',
        { run_id, port: 22 },
        [
          'port_out_of_range',
          'preview port must be between 3000 and 9000, got 22: start the server on a port in that range.',
        ],
      ],
      [
        'start_preview',
        { run_id: other.runId, port: 3000 },
        ['foreign_run', `Run ${other.runId} is not yours: use the credential of its owner.`],
      ],
      [
        'list_previews',
        { run_id: 'run_nothere' },
        ['run_not_found', 'Run run_nothere does not exist: POST /api/runs makes one.'],
      ],
      [
        'stop_preview',
        { run_id, port: 3999 },
        [
          'preview_not_found',
          `Port 3999 of run ${run_id} has no live preview: list_previews names those that are.`,
        ],
      ],
      [
        'read_file',
        { run_id, path: 'nowhere' },
        ['workspace_read_not_found', 'File not found: /workspace/nowhere'],
      ],
      [
        'read_file',
        { run_id, path: '/etc/passwd' },
        ['invalid_request', 'path must resolve to a location within /workspace'],
      ],
      [
        'write_file',
        { run_id, path: '../../etc/passwd', content: 'x' },
        ['invalid_request', 'path must resolve to a location within /workspace'],
      ],
      [
        'write_file',
        { run_id, path: 'x', content: '%', encoding: 'base64' },
        ['invalid_request', 'content: must be base64, as encoding says. Send text with encoding utf-8.'],
      ],
      [
        'list_files',
        { run_id, path: 'nowhere' },
        ['workspace_read_not_found', 'Folder not found: /workspace/nowhere'],
      ],
      [
        'list_files',
        { run_id, path: 'odd/outside' },
        ['invalid_request', 'path must resolve to a location within /workspace'],
      ],
      [
        'list_files',
        { run_id, path: 'odd/link' },
        ['invalid_request', 'path must resolve to a location within /workspace'],
      ],
      [
        'list_files',
        { run_id, path: 'odd/-dash' },
        ['invalid_request', '/workspace/odd/-dash is no directory: read it as a file.'],
      ],
      [
        'start_preview',
        { run_id },
        ['invalid_request', 'port: must be an integer between 1 and 65535, got nothing.'],
      ],
      [
        'start_preview',
        { run_id, port: '3000' },
        ['invalid_request', 'port: must be an integer between 1 and 65535, got "3000".'],
      ],
      [
        'doctor',
        { run_id, prot: 1 },
        ['invalid_request', 'arguments: unknown field "prot" (did you mean "port"?).'],
      ],
    ];
    for (const [name, args, expected] of attempts) {
      expect(refusal(await callTool(client, name, args))).toEqual(expected);
    }
    await expect(callTool(client, 'approve', {})).rejects.toThrow(
      'There is no tool "approve": tools/list names them.',
    );
  });

  test('is its caller, and may do what its caller may', async () => {
    const other = await makeRun(porthole, BOB, { auto_approve_tools: true });
    const agent = await overHttp(run.agentToken);
    for (const name of ['list_previews', 'doctor', 'list_files']) {
      expect(refusal(await callTool(agent, name, { run_id: other.runId }))[0]).toBe('foreign_run');
    }
    const admin = await overHttp(ADA_ADMIN);
    expect((await callTool(admin, 'list_previews', { run_id: other.runId })).text).toBe(
      'No preview is live.',
    );
    await expect(overHttp('no-key-of-anybody')).rejects.toThrow(/Unauthorized|401/);
    await porthole.call('POST', `/api/runs/${run.runId}/complete`, { token: ALICE });
    await expect(agent.listTools()).rejects.toThrow(/Unauthorized|401/);
  });
});

describe('a preview that an MCP client asks for', () => {
  let run: MadeRun;
  beforeAll(async () => {
    run = await makeRun(porthole, ALICE);
    await serve(porthole, run.sandboxId, 3000, 'hello', ALICE);
  });

  /** The request that waits for a decision, once it exists. */
  const requested = async (): Promise<string> => {
    for (;;) {
      const { events } = (
        await porthole.call('GET', `/api/runs/${run.runId}/timeline`, { token: ALICE })
      ).json<{ events: { type: string; data: { request_id: string } }[] }>();
      const ended = new Set(
        events.filter(({ type }) => type !== 'tool.approval_required').map(({ data }) => data.request_id),
      );
      const waiting = events.find(
        ({ type, data }) => type === 'tool.approval_required' && !ended.has(data.request_id),
      );
      if (waiting !== undefined) return waiting.data.request_id;
    }
  };
  const decide = (request_id: string, decision: string, more: object = {}) =>
    porthole.call('POST', `/api/runs/${run.runId}/tool-approvals`, {
      token: ALICE,
      body: { request_id, decision, ...more },
    });

  test.each(PROTOCOLS)('waits for a person, and says so meanwhile, in %s', async (protocol) => {
    const client = await overHttp(run.agentToken, protocol);
    const heard: Progress[] = [];
    const first = Promise.withResolvers<void>();
    const onprogress = (progress: Progress): void => {
      heard.push(progress);
      first.resolve();
    };
    const asking = callTool(client, 'start_preview', { run_id: run.runId, port: 3000 }, { onprogress });
    await first.promise;
    expect(heard[0]).toMatchObject({
      total: 300,
      message: expect.stringMatching(/^Waiting for a person to approve \(request \w+, until 20.*Z\)\.$/),
    });
    expect((await decide(await requested(), 'approve')).status).toBe(200);
    expect((await asking).text).toMatch(URL_IN);
    expect(
      (await callTool(client, 'stop_preview', { run_id: run.runId, port: 3000 })).isError,
    ).toBeUndefined();
  });

  test('is decided by its owner over MCP, and not by the agent', async () => {
    const agent = await overHttp(run.agentToken);
    const names = (await agent.listTools()).tools.map(({ name }) => name);
    expect(names).not.toContain('decide_approval');
    const asking = callTool(agent, 'start_preview', { port: 3000 });
    const request_id = await requested();
    const decision = { run_id: run.runId, request_id, decision: 'approve' };
    expect(refusal(await callTool(agent, 'decide_approval', decision))[0]).toBe('forbidden');
    expect(refusal(await callTool(agent, 'list_approvals', {}))[0]).toBe('forbidden');
    const [owner, other] = [await overHttp(ALICE), await overHttp(BOB)];
    expect((await callTool(other, 'list_approvals', {})).text).toBe('Nothing waits for approval.');
    expect(refusal(await callTool(other, 'decide_approval', decision))[0]).toBe('foreign_run');
    expect((await callTool(owner, 'list_approvals', {})).structuredContent).toMatchObject({
      approvals: [{ request_id, run_id: run.runId }],
    });
    expect((await callTool(owner, 'decide_approval', decision)).text).toBe('The request is approved.');
    expect((await asking).text).toMatch(URL_IN);
    await callTool(owner, 'stop_preview', { run_id: run.runId, port: 3000 });
  });

  test('returns an error with the person’s reason when it is denied', async () => {
    const client = await overHttp(run.agentToken);
    const asking = callTool(client, 'start_preview', { run_id: run.runId, port: 3000 });
    await decide(await requested(), 'deny', { reason: 'not before Monday' });
    const [code, text] = refusal(await asking);
    expect(code).toBe('approval_denied');
    expect(text).toMatch(/not before Monday/);
  });

  test.each(PROTOCOLS)('is withdrawn when the client goes away, in %s', async (protocol) => {
    const client = await overHttp(run.agentToken, protocol);
    const asking = callTool(client, 'start_preview', { run_id: run.runId, port: 3000 }).catch(() => 'gone');
    const id = await requested();
    await client.close();
    expect(await asking).toBe('gone');
    const isWithdrawn = async () =>
      (await readTimeline(porthole, run.runId, ALICE)).some(
        ({ type, data }) => type === 'tool.withdrawn' && data['request_id'] === id,
      );
    while (!(await isWithdrawn()));
    expect((await decide(id, 'approve')).status).toBe(409);
  });
});

describe('on the wire, /mcp', () => {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    porthole.call('POST', '/mcp', {
      token: ALICE,
      body,
      headers: { accept: 'application/json, text/event-stream', ...headers },
    });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

  test('needs no session and no handshake', async () => {
    const answer = await post(list);
    expect([answer.status, answer.headers['content-type'], answer.headers['mcp-session-id']]).toEqual([
      200,
      'text/event-stream',
      undefined,
    ]);
    expect(answer.text).toMatch(/^event: message\ndata: \{"result":\{"tools":\[/);
  });

  test('takes notifications without an answer', async () => {
    const answer = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([answer.status, answer.text]).toEqual([202, '']);
  });

  test('offers no separate stream', async () => {
    const answer = await porthole.call('GET', '/mcp', {
      token: ALICE,
      headers: { accept: 'text/event-stream' },
    });
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST']);
  });

  test.each<[string, unknown, Record<string, string>, number, RegExp]>([
    ['no caller', list, { authorization: '' }, 401, /"unauthorized"/],
    ['a page of another site', list, { origin: 'https://evil.test' }, 403, /"origin_not_allowed"/],
    ['no JSON', 'hello', { 'content-type': 'text/plain' }, 415, /"unsupported_media_type"/],
    ['half of a JSON', '{', { 'content-type': 'application/json' }, 400, /Invalid JSON body/],
    ['a number', '1', { 'content-type': 'application/json' }, 400, /"invalid_request"/],
    [
      'too much',
      `[${'1'.repeat(1_100_000)}]`,
      { 'content-type': 'application/json' },
      413,
      /"payload_too_large"/,
    ],
    ['a batch of 17', Array.from({ length: 17 }, (_, id) => ({ ...list, id })), {}, 400, /-32600/],
    ['a batch of nothing', [], {}, 400, /^\{"jsonrpc":"2.0","error":\{"code":-32600,.*"id":null\}$/],
    ['no message', { hello: 'world' }, {}, 400, /-32600/],
    ['who takes no stream', list, { accept: 'application/json' }, 406, /-32000/],
    ['an unknown version of the protocol', list, { 'mcp-protocol-version': '1999-01-01' }, 400, /-32000/],
    ['an unknown method', { ...list, method: 'tools/all' }, {}, 200, /-32601/],
    [
      'a tool of a strange name',
      { ...list, method: 'tools/call', params: { name: `x${'y'.repeat(5_000)}` } },
      {},
      200,
      /-32602.{0,200}$/s,
    ],
  ])('refuses %s', async (_name, body, headers, status, text) => {
    const answer = await post(body, headers);
    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(text);
    expect(answer.text.length).toBeLessThan(1_000);
  });

  test('repeats no credential that was sent in the wrong place', async () => {
    for (const secret of [ALICE, BOB]) {
      const call = {
        ...list,
        method: 'tools/call',
        params: { name: 'list_previews', arguments: { run_id: secret } },
      };
      expect((await post(call)).text).not.toContain(secret);
      const unknown = { ...list, method: 'tools/call', params: { name: secret } };
      expect((await post(unknown)).text).not.toContain(secret);
    }
    expect(porthole.logged.join('')).not.toContain(ALICE);
  });
});

describe('the stdio server', () => {
  test('says what to do when Porthole is not there, or wants a credential', async () => {
    await expect(overStdio({ PORTHOLE_URL: 'http://127.0.0.1:1' })).rejects.toThrow(
      'Porthole cannot be reached at http://127.0.0.1:1: start it with npm start, or set PORTHOLE_URL.',
    );
    await expect(overStdio({ PORTHOLE_URL: porthole.host.url })).rejects.toThrow(
      'Porthole asks for a credential: set PORTHOLE_TOKEN to a key of yours or to the token of an agent.',
    );
    await expect(
      overStdio({ PORTHOLE_URL: porthole.host.url, PORTHOLE_TOKEN: 'wrong-key-0123456789' }),
    ).rejects.toThrow('Porthole does not accept the credential in PORTHOLE_TOKEN');
  });
});
