import { expect, test } from '@jest/globals';
import { ensureConsoleBuilt } from '#test/browser/support/console-fixture.ts';
import type { TestHost } from '#test/support/in-process-host.ts';
import { type AnyClient, callTool, type McpClients, PROTOCOLS } from '../support/mcp-clients.ts';
import { ALICE, BOB } from '../support/people.ts';
import { type MadeRun, makeRun } from '../support/runs.ts';

/** Results that are too long for a conversation, and what a client reads as a resource. */
export function mcpResults(porthole: () => TestHost, run: () => MadeRun, { overHttp }: McpClients): void {
  test('gets the beginning and the end of long output, and never all of it', async () => {
    const client = await overHttp(run().agentToken);
    const { structuredContent } = await callTool(client, 'run_command', {
      command: 'echo first; head -c 3000000 /dev/zero | tr "\\0" x; echo; echo last',
    });
    const { stdout, left_out_bytes } = structuredContent as { stdout: string; left_out_bytes: number };
    expect(stdout).toMatch(/^first\nx+\n… \d+ bytes left out …\nx+\nlast\n$/);
    expect(stdout.length).toBeLessThan(17_000);
    expect(left_out_bytes).toBe(3_000_012 - 16_384);
  });

  test('reads a long file in parts that end between characters', async () => {
    const client = await overHttp(run().agentToken);
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
    const client = await overHttp(run().agentToken);
    const print = `head -c 16000 /dev/zero | tr '\\0' x`;
    const command = `${print}; ${print} >&2; echo end >&2`;
    const { text, structuredContent } = await callTool(client, 'run_command', { command });
    expect(text.length).toBeLessThan(32_100);
    expect(text).toMatch(/^x+\n… \d+ bytes left out …\n(?:.|\n)*end\n\n\[exit code 0\]$/);
    expect(structuredContent).toMatchObject({ exit_code: 0 });
  });

  test('bounds the JSON of results with control characters', async () => {
    const client = await overHttp(run().agentToken);
    const print = "head -c 20000 /dev/zero | tr '\\0' '\\1'";
    const names =
      'mkdir -p ctl && cd ctl && for n in $(seq 300); do :>"$n$(printf %100s | tr " " "\\1")"; done';
    await callTool(client, 'run_command', { command: `${print} >control; ${names}` });
    const attempts: [string, object][] = [
      ['run_command', { command: `${print}; ${print} >&2` }],
      ['read_file', { path: 'control' }],
      ['list_files', { path: 'ctl' }],
    ];
    for (const [name, args] of attempts) {
      const { structuredContent } = await callTool(client, name, args);
      const { length } = JSON.stringify(structuredContent);
      expect([name, length > 10_000, length < 32_000]).toEqual([name, true, true]);
    }
  });

  test.each(PROTOCOLS)('reads the rest of a long result as a resource, in %s', async (protocol) => {
    const own = await makeRun(porthole(), ALICE);
    const client = await overHttp(own.agentToken, protocol);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'porthole://runs/{run_id}/files/{+path}',
      'porthole://runs/{run_id}/commands/{id}',
      'porthole://runs/{run_id}/processes/{process_id}',
    ]);
    const linkOf = async (name: string, args: object) => {
      const { content } = await callTool(client, name, args);
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

    const path = `/v1/sandbox/${own.sandboxId}/processes`;
    const body = { command: 'seq 100000; echo failed >&2; exit 3' };
    const { id } = (await porthole().call('POST', path, { token: ALICE, body })).json<{ id: string }>();
    await porthole().call('POST', `${path}/${id}/wait`, { token: ALICE, body: {} });
    const output = await callTool(client, 'process_output', { process_id: id });
    expect(output.structuredContent).toMatchObject({ state: 'exited' });
    expect(output.text).toMatch(/^\[exited\]\n99802\n(?:.|\n)*\n100000\nfailed$/);
    expect(await read(await linkOf('process_output', { process_id: id }))).toMatchObject({
      text: expect.stringMatching(/^1\n2\n(?:.|\n)*\n… \d+ bytes left out …\n(?:.|\n)*\n100000\nfailed\n$/),
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

  test.each(PROTOCOLS)('reads the page that chats show for previews, in %s', async (protocol) => {
    ensureConsoleBuilt();
    const client = await overHttp(run().agentToken, protocol);
    const { tools } = await client.listTools();
    const uri = 'ui://porthole/preview.html';
    const shown = tools.filter(({ _meta }) => _meta !== undefined).map(({ name, _meta }) => [name, _meta]);
    expect(shown).toEqual(
      ['start_preview', 'look'].map((name) => [name, { ui: { resourceUri: uri }, 'ui/resourceUri': uri }]),
    );
    const page = { uri, mimeType: 'text/html;profile=mcp-app' };
    expect((await client.listResources()).resources).toMatchObject([page]);
    const { contents } = await client.readResource({ uri });
    const csp = { frameDomains: ['http://*.localhost:*'] };
    expect(contents).toMatchObject([{ ...page, _meta: { ui: { csp } } }]);
    const [{ text }] = contents as unknown as [{ text: string }];
    expect(text).toContain(`<meta name="porthole-url" content="${new URL(porthole().host.url).origin}" />`);
    expect(text).toContain('<meta name="porthole-zone" content="localhost" />');
    expect(text.length).toBeLessThan(16_000);
    await expect(client.readResource({ uri: 'ui://porthole/other' })).rejects.toThrow(
      'There is no resource "ui://porthole/other": resources/list names them.',
    );
  });
}
