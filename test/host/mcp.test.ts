import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { VERSION } from '#handlers/route.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { mcpCalls } from './mcp/mcp-calls.ts';
import { mcpCheckpoints } from './mcp/mcp-checkpoints.ts';
import { mcpCode } from './mcp/mcp-code.ts';
import { mcpFiles } from './mcp/mcp-files.ts';
import { mcpResults } from './mcp/mcp-results.ts';
import { mcpWire } from './mcp/mcp-wire.ts';
import { readTimeline } from './support/approvals.ts';
import { execute } from './support/commands.ts';
import {
  type AnyClient,
  callTool,
  mcpClients,
  type Protocol,
  PROTOCOLS,
  refusal,
  URL_IN,
} from './support/mcp-clients.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE } from './support/people.ts';
import { type MadeRun, makeRun } from './support/runs.ts';

let porthole: TestHost;
const clients = mcpClients(() => porthole);
const { overHttp, overStdio } = clients;

beforeAll(async () => {
  // Only the texts of the tools: test/browser/look covers those with a page.
  porthole = await startTestHost({ ...PEOPLE, PORTHOLE_BROWSER: '/nonexistent/chromium' });
});
afterAll(() => porthole.end());

describe('an MCP client', () => {
  let run: MadeRun;
  beforeAll(async () => {
    run = await makeRun(porthole, ALICE, { auto_approve_tools: true });
  });

  test.each(PROTOCOLS)('lists the tools, each with its input and output schema, in %s', async (protocol) => {
    const client = await overHttp(ALICE, protocol);
    expect(client.getServerVersion()).toMatchObject({
      name: 'porthole',
      title: 'Porthole',
      version: VERSION,
    });
    expect(client.getInstructions()).toMatch(/start_preview opens a live URL/);
    const { tools } = await client.listTools();
    expect(tools.map(({ name, inputSchema: { required } }) => [name, required])).toEqual([
      ['start_run', undefined],
      ['start_preview', ['port']],
      ['share_preview', ['port', 'label']],
      ['stop_preview', ['port']],
      ['list_previews', undefined],
      ['doctor', undefined],
      ['check', ['port']],
      ['look', ['port']],
      ['read_inbox', undefined],
      ['reply_inbox', ['message_id', 'text']],
      ['run_command', ['command']],
      ['run_code', ['code']],
      ['start_server', ['name', 'command']],
      ['restart_server', ['name']],
      ['delete_server', ['name']],
      ['server_logs', ['name']],
      ['list_processes', undefined],
      ['process_output', ['process_id']],
      ['stop_process', undefined],
      ['read_file', ['path']],
      ['write_file', ['path', 'content']],
      ['edit_file', ['path', 'old_text', 'new_text']],
      ['list_files', undefined],
      ['search_files', undefined],
      ['checkpoint', undefined],
      ['restore', ['checkpoint']],
      ['fork', undefined],
      ['compare_forks', ['fork']],
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
    const starting = tools.find(({ name }) => name === 'start_server')?.inputSchema.properties?.['port'];
    expect(starting).toMatchObject({ minimum: 1, maximum: 65_535 });
    expect(tools[1]?.inputSchema.properties?.['port']).toEqual({
      type: 'integer',
      minimum: 3_000,
      maximum: 9_000,
      description: 'Where the server listens in the sandbox',
    });
  });

  test.each(
    PROTOCOLS.flatMap((protocol): [Protocol, string, () => Promise<AnyClient>][] => [
      [protocol, 'HTTP', () => overHttp(run.agentToken, protocol)],
      [
        protocol,
        'stdio',
        () => overStdio({ PORTHOLE_URL: porthole.host.url, PORTHOLE_TOKEN: run.agentToken }, protocol),
      ],
    ]),
  )('works in a sandbox and shows its server, in %s over %s', async (protocol, transport, connect) => {
    const client = await connect();
    await client.listTools();
    const run_id = run.runId;
    const folder = `site-${protocol}-${transport}`;
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
    const port = 3000 + transport.length + 100 * PROTOCOLS.indexOf(protocol);
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
    const stranger = await overHttp(BOB, '2025-11-25', headers);
    for (const other of [await overHttp(ALICE), stranger])
      expect(refusal(await callTool(other, 'list_files', {}))[0]).toBe('invalid_request');

    await porthole.call('POST', `/api/runs/${id}/complete`, { token: ALICE });
    const again = await Promise.all([callTool(person, 'start_run', {}), callTool(person, 'start_run', {})]);
    for (const { structuredContent } of again)
      expect(structuredContent).toMatchObject({ sandbox_id: sandbox });
    expect((await callTool(person, 'list_files', {})).text).toContain('mine (1 bytes)');
  });

  test('starts a server, sees its port, and stops it', async () => {
    const client = await overHttp(run.agentToken);
    const command = 'exec python3 -m http.server 4567 --bind 127.0.0.1';
    const missing = async (tool: string) => refusal(await callTool(client, tool, { name: 'web' }));
    const declareIt = 'No server web: declare it with start_server.';
    expect(await missing('server_logs')).toEqual(['server_not_found', declareIt]);
    await callTool(client, 'start_server', { name: 'seen', command, port: 4567 });
    await callTool(client, 'start_preview', { port: 4567, check: false });
    expect((await callTool(client, 'list_processes', {})).structuredContent).toMatchObject({
      servers: [{ name: 'seen', state: 'ready' }],
      ports: expect.arrayContaining([expect.objectContaining({ port: 4567, server: 'seen' })]),
    });
    const useSeen = 'No server web: use one of seen, or declare it with start_server.';
    for (const tool of ['server_logs', 'stop_process'])
      expect(await missing(tool)).toEqual(['server_not_found', useSeen]);
    expect((await callTool(client, 'stop_process', { name: 'seen' })).text).toMatch(/^seen is stop/);
    const started = await porthole.call('POST', `/v1/sandbox/${run.sandboxId}/processes`, {
      token: ALICE,
      body: { argv: ['sleep', '600'] },
    });
    const { id } = started.json<{ id: string }>();
    for (const [tool, how] of [
      ['server_logs', 'call process_output with its process_id'],
      ['stop_process', 'pass its process_id'],
    ] as const)
      expect(await missing(tool)).toEqual([
        'server_not_found',
        `${useSeen} For a process, ${how}: ${id} (sleep 600).`,
      ]);
    await callTool(client, 'stop_process', { process_id: id });
    const neither = refusal(await callTool(client, 'stop_process', {}));
    expect(neither).toEqual(['invalid_request', expect.stringMatching(/pass one of them/)]);
    await callTool(client, 'stop_preview', { port: 4567 });
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

  test('gets refusals that say what to do', async () => {
    const client = await overHttp(ALICE);
    const run_id = run.runId;
    const other = await makeRun(porthole, BOB);
    const outside = 'path must resolve to a location within /workspace';
    const attempts: [string, object, string, string][] = [
      [
        'start_preview',
        { port: 22 },
        'port_out_of_range',
        'preview port must be between 3000 and 9000, got 22: start the server on a port in that range.',
      ],
      [
        'start_preview',
        { run_id: other.runId, port: 3000 },
        'foreign_run',
        `Run ${other.runId} is not yours: use the credential of its owner.`,
      ],
      [
        'list_previews',
        { run_id: 'run_nothere' },
        'run_not_found',
        'Run run_nothere does not exist: POST /api/runs creates one.',
      ],
      [
        'stop_preview',
        { port: 3999 },
        'preview_not_found',
        `Port 3999 of run ${run_id} has no live preview: list_previews names those that are.`,
      ],
      ['read_file', { path: 'nowhere' }, 'workspace_read_not_found', 'File not found: /workspace/nowhere'],
      ['read_file', { path: '/etc/passwd' }, 'invalid_request', outside],
      ['write_file', { path: '../../etc/passwd', content: 'x' }, 'invalid_request', outside],
      [
        'write_file',
        { path: 'x', content: '%', encoding: 'base64' },
        'invalid_request',
        'content: must be base64, as encoding says. Send text with encoding utf-8.',
      ],
      ['start_preview', {}, 'invalid_request', 'port is missing: it must be an integer between 1 and 65535.'],
      [
        'start_preview',
        { port: '3000' },
        'invalid_request',
        'port: must be an integer between 1 and 65535, got "3000".',
      ],
      ['doctor', { prot: 1 }, 'invalid_request', 'arguments: unknown field "prot" (did you mean "port"?).'],
    ];
    for (const [name, args, ...expected] of attempts)
      expect(refusal(await callTool(client, name, { run_id, ...args }))).toEqual(expected);
    await expect(callTool(client, 'approve', {})).rejects.toThrow(
      'There is no tool "approve": tools/list names them.',
    );
  });

  mcpFiles(() => run, clients);
  mcpResults(
    () => porthole,
    () => run,
    clients,
  );

  // The last test: it completes the run.
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

mcpCalls(() => porthole, clients);
mcpCheckpoints(() => porthole, clients);
mcpCode(() => porthole, clients);
mcpWire(() => porthole, clients);
