import { describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';
import type { TestHost } from '#test/support/in-process-host.ts';
import { MCP_STDIO, type McpClients } from '../support/mcp-clients.ts';
import { ALICE, BOB } from '../support/people.ts';
import { makeRun } from '../support/runs.ts';

/** The HTTP of /mcp, without a client library, and the program for clients over stdio. */
export function mcpWire(porthole: () => TestHost, { overStdio }: McpClients): void {
  describe('on the wire, /mcp', () => {
    const post = (body: unknown, headers: Record<string, string> = {}) =>
      porthole().call('POST', '/mcp', {
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
      expect(answer.text).toMatch(/^:\n\nevent: message\ndata: \{"result":\{"tools":\[/);
    });

    test.each([
      '*/*',
      'text/event-stream',
      'application/*, text/*',
      'application/json;q=0.5, text/event-stream',
    ])('answers with a stream to Accept: %s', async (accept) => {
      const answer = await post(list, { accept });
      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/event-stream']);
    });

    test('answers with JSON to a client that takes nothing else', async () => {
      const accept = 'application/json';
      const answer = await post({ ...list, method: 'ping' }, { accept });
      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
      expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
      const batch = [1, 2].map((id) => ({ ...list, id, method: 'ping' }));
      const answers = await post(batch, { accept, 'mcp-protocol-version': '2025-03-26' });
      expect(answers.json<{ id: number }[]>().map(({ id }) => id)).toEqual([1, 2]);
    });

    test('sends a first byte before the answer of a long call', async () => {
      const { runId: run_id } = await makeRun(porthole(), ALICE);
      const params = {
        name: 'run_command',
        arguments: { run_id, command: 'sleep 600', timeout_seconds: 600 },
      };
      const cancelling = new AbortController();
      const answer = await fetch(new URL('/mcp', porthole().host.url), {
        method: 'POST',
        headers: { authorization: `Bearer ${ALICE}`, 'content-type': 'application/json', accept: '*/*' },
        body: JSON.stringify(call(params)),
        signal: cancelling.signal,
      });
      const first = await answer.body?.getReader().read();
      expect(Buffer.from(first?.value ?? []).toString()).toBe(':\n\n');
      cancelling.abort();
    });

    test('lists the tools in 25 kB, with schemas that every client reads', async () => {
      const { text } = await post(list);
      expect(text.length).toBeLessThanOrEqual(25_000);
      expect(text).not.toMatch(/"(?:exclusiveMinimum|exclusiveMaximum|const|\$ref|\$defs|\$schema|allOf)":/);
      const line = text.split('\n').find((each) => each.startsWith('data: ')) ?? '';
      const { result } = JSON.parse(line.slice(6)) as {
        result: { tools: { name: string; inputSchema: { properties: Record<string, unknown> } }[] };
      };
      // An argument that has the name of a keyword is still listed.
      const search = result.tools.find(({ name }) => name === 'search_files');
      expect(Object.keys(search?.inputSchema.properties ?? {})).toContain('pattern');
    });

    test('takes an empty version of the protocol for none', async () => {
      expect((await post(list, { 'mcp-protocol-version': '' })).status).toBe(200);
    });

    test('takes notifications without an answer', async () => {
      const answer = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
      expect([answer.status, answer.text]).toEqual([202, '']);
    });

    test('offers no separate stream', async () => {
      const headers = { accept: 'text/event-stream' };
      const answer = await porthole().call('GET', '/mcp', { token: ALICE, headers });
      expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST']);
    });

    const json = { 'content-type': 'application/json' };
    const call = (params: object) => ({ ...list, method: 'tools/call', params });
    test.each<[string, unknown, Record<string, string>, number, RegExp]>([
      ['no caller', list, { authorization: '' }, 401, /"unauthorized"/],
      ['a page of another site', list, { origin: 'https://evil.test' }, 403, /"origin_not_allowed"/],
      ['no JSON', 'hello', { 'content-type': 'text/plain' }, 415, /"unsupported_media_type"/],
      ['half of a JSON', '{', json, 400, /Invalid JSON body/],
      ['a number', '1', json, 400, /"invalid_request"/],
      ['too much', `[${'1'.repeat(1_100_000)}]`, json, 413, /"payload_too_large"/],
      ['a batch of 17', Array.from({ length: 17 }, (_, id) => ({ ...list, id })), {}, 400, /-32600/],
      ['a batch of nothing', [], {}, 400, /^\{"jsonrpc":"2.0","error":\{"code":-32600,.*"id":null\}$/],
      ['no message', { hello: 'world' }, {}, 400, /-32600/],
      ['who takes neither', list, { accept: 'text/html' }, 406, /-32000/],
      ['an unknown version of the protocol', list, { 'mcp-protocol-version': '1999-01-01' }, 400, /-32000/],
      ['an unknown method', { ...list, method: 'tools/all' }, {}, 200, /-32601/],
      ['a tool of a strange name', call({ name: `x${'y'.repeat(5_000)}` }), {}, 200, /-32602.{0,200}$/s],
    ])('refuses %s', async (_name, body, headers, status, text) => {
      const answer = await post(body, headers);
      expect(answer.status).toBe(status);
      expect(answer.text).toMatch(text);
      expect(answer.text.length).toBeLessThan(1_000);
    });

    test('repeats no credential that was sent in the wrong place', async () => {
      for (const secret of [ALICE, BOB]) {
        const named = call({ name: 'list_previews', arguments: { run_id: secret } });
        expect((await post(named)).text).not.toContain(secret);
        expect((await post(call({ name: secret }))).text).not.toContain(secret);
      }
      expect(porthole().logged.join('')).not.toContain(ALICE);
    });
  });

  test('over stdio, answers every line, also after the end of the input', async () => {
    const initialize = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'printf', version: '1' },
    };
    const lines = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      'hello\u2028"',
      { hello: 'world' },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
      { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'start_run', arguments: {} } },
    ].map((each) => (typeof each === 'string' ? each : JSON.stringify(each)));
    const { stdout, stderr, code } = await exchange(lines.join('\n'));
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const summary = answers.map(({ id, error, result }) => [
      id,
      error === undefined ? Object.keys(result as object)[0] : (error as { code: number }).code,
    ]);
    expect(summary.toSorted(([a], [b]) => Number(a) - Number(b))).toEqual([
      [null, -32_700],
      [null, -32_600],
      [1, 'protocolVersion'],
      [2, 'tools'],
      [3, 'content'],
    ]);
    expect([code, stderr]).toEqual([0, '']);
  });

  /** Runs the program for clients over stdio with the whole of its input. */
  async function exchange(input: string): Promise<{ stdout: string; stderr: string; code: unknown }> {
    const env = { ...COMPILE_CACHE, PORTHOLE_URL: porthole().host.url, PORTHOLE_TOKEN: ALICE };
    const program = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MCP_STDIO], { env });
    const closed = once(program, 'close');
    program.stdin.end(input);
    const [stdout, stderr] = await Promise.all([text(program.stdout), text(program.stderr)]);
    const [code] = await closed;
    return { stdout, stderr, code };
  }

  test('over stdio, says what to do when Porthole is not there, or wants a credential', async () => {
    const { url } = porthole().host;
    await expect(overStdio({ PORTHOLE_URL: 'http://127.0.0.1:1' })).rejects.toThrow(
      'Porthole cannot be reached at http://127.0.0.1:1: start it with npm start, or set PORTHOLE_URL.',
    );
    await expect(overStdio({ PORTHOLE_URL: url })).rejects.toThrow(
      'Porthole asks for a credential: set PORTHOLE_TOKEN to a key of yours or to the token of an agent.',
    );
    await expect(overStdio({ PORTHOLE_URL: url, PORTHOLE_TOKEN: 'wrong-key-0123456789' })).rejects.toThrow(
      'Porthole does not accept the credential in PORTHOLE_TOKEN',
    );
  });
}
