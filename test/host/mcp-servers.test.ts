/** Servers and commands that an agent handles through MCP. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { missingFor } from '#test/adapters/local/machine.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type Internet, startInternet } from '#test/support/internet.ts';
import { suite } from '#test/support/suite.ts';
import { callTool, mcpClients } from './support/mcp-clients.ts';
import { ALICE, PEOPLE } from './support/people.ts';
import { makeRun, type MadeRun } from './support/runs.ts';

interface Waiting {
  readonly exit_code: number | null;
  readonly command_id: string;
  readonly waiting_for: readonly { readonly request_id: string; readonly host: string }[];
}

suite('servers and commands over MCP', missingFor('bubblewrap'), () => {
  let porthole: TestHost;
  let run: MadeRun;
  let internet: Internet;
  const { overHttp } = mcpClients(() => porthole);

  beforeAll(async () => {
    internet = await startInternet();
    const { proxy } = internet;
    porthole = await startTestHost({ ...PEOPLE, https_proxy: proxy, http_proxy: proxy });
    run = await makeRun(porthole, ALICE);
  }, 60_000);
  afterAll(async () => {
    await porthole.end();
    internet.close();
  });

  test('replaces a server only where the call says so', async () => {
    const client = await overHttp(run.agentToken);
    const start = (command: string, more: object = {}) =>
      callTool(client, 'start_server', { name: 'web', command, ...more });
    expect((await start('echo one; exec sleep 600')).isError).toBeUndefined();
    const refused = await start('echo two; exec sleep 600');
    expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining('web')]);
    expect((await start('echo two; exec sleep 600', { replace: true })).text).toMatch(
      /^Server web is declared, /,
    );
    // The same declaration is no reason to stop the server.
    expect((await start('echo two; exec sleep 600', { replace: true })).text).toMatch(/is declared already/);
  });

  test('restarts and deletes a server', async () => {
    const client = await overHttp(run.agentToken);
    const command = 'echo x >>starts; exec sleep 600';
    await callTool(client, 'start_server', { name: 'counted', command, restart: 'never' });
    const starts = async () => {
      const { structuredContent } = await callTool(client, 'run_command', { command: 'wc -l <starts' });
      return (structuredContent as { stdout: string }).stdout.trim();
    };
    while ((await starts()) !== '1');
    expect((await callTool(client, 'restart_server', { name: 'counted' })).isError).toBeUndefined();
    while ((await starts()) !== '2');
    expect((await callTool(client, 'delete_server', { name: 'counted' })).structuredContent).toEqual({
      name: 'counted',
      deleted: true,
    });
    for (const tool of ['restart_server', 'delete_server', 'server_logs']) {
      const gone = await callTool(client, tool, { name: 'counted' });
      expect([tool, gone.isError, gone.text]).toEqual([
        tool,
        true,
        expect.stringContaining('No server counted'),
      ]);
    }
  });

  test('keeps the indentation of logs, and drops escape sequences', async () => {
    const client = await overHttp(run.agentToken);
    const lines = ['Traceback:', '  File "a.py", line 3', '\\tindented', '\\033[31mred\\033[0m'];
    const command = `printf '${lines.join('\\n')}\\n'; exec sleep 600`;
    await callTool(client, 'start_server', { name: 'printing', command });
    let log: readonly string[] = [];
    while (log.length < 4) {
      const { structuredContent } = await callTool(client, 'server_logs', { name: 'printing' });
      ({ log } = structuredContent as { log: string[] });
    }
    expect(log).toEqual(['Traceback:', '  File "a.py", line 3', '\tindented', 'red']);
  });

  test('returns from a command that waits for its owner, which continues', async () => {
    const client = await overHttp(run.agentToken);
    const command = 'echo begun; curl -sS -m 50 -p http://api.example.test/';
    const waiting = await callTool(client, 'run_command', { command });
    const data = waiting.structuredContent as unknown as Waiting;
    expect(data).toMatchObject({
      exit_code: null,
      stdout: 'begun\n',
      waiting_for: [{ host: 'api.example.test', port: 80 }],
    });
    const request_id = data.waiting_for[0]?.request_id ?? '';
    expect(waiting.text).toContain(request_id);
    expect(waiting.text).toContain(data.command_id);
    // Another command does not wait for the same request.
    const other = await callTool(client, 'run_command', { command: 'echo other' });
    expect(other.structuredContent).toMatchObject({ exit_code: 0, stdout: 'other\n' });
    const requests = await callTool(client, 'network_requests', {});
    expect(requests.structuredContent).toMatchObject({ waiting: data.waiting_for });
    const output = async () =>
      (await callTool(client, 'process_output', { process_id: data.command_id })).structuredContent;
    expect(await output()).toMatchObject({ state: 'running' });

    const body = { request_id, decision: 'approve', scope: 'once' };
    const path = `/api/runs/${run.runId}/tool-approvals`;
    expect((await porthole.call('POST', path, { token: ALICE, body })).status).toBe(200);
    let ended: unknown;
    do ended = await output();
    while ((ended as { state: string }).state === 'running');
    expect(ended).toEqual({ state: 'exited', output: ['begun', 'from afar'] });
    expect((await callTool(client, 'network_requests', {})).structuredContent).toMatchObject({ waiting: [] });
  }, 60_000);

  test('names a cancellation with a code of JSON-RPC', async () => {
    const session = { authorization: `Bearer ${run.agentToken}`, 'content-type': 'application/json' };
    const post = (body: object) =>
      fetch(new URL('/mcp', porthole.host.url), {
        method: 'POST',
        headers: { ...session, accept: 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      });
    const params = { name: 'run_command', arguments: { command: 'touch cancelled; exec sleep 600' } };
    const called = post({ id: 'slow', method: 'tools/call', params });
    const client = await overHttp(run.agentToken);
    const exists = async () =>
      (await callTool(client, 'read_file', { path: 'cancelled' })).isError === undefined;
    while (!(await exists()));
    await post({ method: 'notifications/cancelled', params: { requestId: 'slow' } });
    const answer = (await (await called).json()) as { error: { code: number } };
    expect(answer.error.code).toBe(-32_800);
  });
});
