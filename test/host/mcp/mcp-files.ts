import { expect, test } from '@jest/globals';
import { callTool, type McpClients, refusal } from '../support/mcp-clients.ts';
import type { MadeRun } from '../support/runs.ts';

/** The tools that read, write, edit, list and search files, as the agent of a run. */
export function mcpFiles(run: () => MadeRun, { overHttp }: McpClients): void {
  test('edits a file where the text is in it once, or everywhere', async () => {
    const client = await overHttp(run().agentToken);
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

  test('edits a file with CRLF by lines with LF', async () => {
    const client = await overHttp(run().agentToken);
    await callTool(client, 'write_file', { path: 'crlf', content: 'a\r\nb\r\nc\r\n' });
    await callTool(client, 'edit_file', { path: 'crlf', old_text: 'a\nb', new_text: 'a\nx\nb' });
    expect((await callTool(client, 'read_file', { path: 'crlf' })).text).toBe('a\r\nx\r\nb\r\nc\r\n');
  });

  test('finds files by name, and lines by a regular expression', async () => {
    const client = await overHttp(run().agentToken);
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
    const client = await overHttp(run().agentToken);
    const name = 'a'.repeat(200);
    await callTool(client, 'write_file', { path: `slow/${name}`, content: `${name}!` });
    const refused = refusal(await callTool(client, 'search_files', { path: 'slow', [field]: expression }));
    expect(refused).toEqual([
      'invalid_request',
      `${field}: it takes too long: Make it simpler: fewer repetitions.`,
    ]);
  });

  test('reads and writes bytes that are no text as base64', async () => {
    const client = await overHttp(run().agentToken);
    const content = Buffer.from([0xff, 0, 0xfe]).toString('base64');
    const path = 'bytes';
    await callTool(client, 'write_file', { path, content, encoding: 'base64' });
    expect((await callTool(client, 'read_file', { path })).structuredContent).toEqual({
      content,
      encoding: 'base64',
      size: 3,
      next_offset: null,
    });
  });

  test('sees folders, links and odd names in a listing', async () => {
    const client = await overHttp(run().agentToken);
    await callTool(client, 'run_command', {
      command: `mkdir -p odd/sub odd/.hidden && cd odd && printf 12345 >"$(printf 'two\\nlines')" && printf 1 >-dash && ln -s /etc/passwd link && ln -s /etc outside && mkfifo pipe && touch 'a b' ..dots`,
    });
    const { structuredContent, text } = await callTool(client, 'list_files', { path: 'odd' });
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
    const outside = 'path must resolve to a location within /workspace';
    const refused = {
      nowhere: ['workspace_read_not_found', 'Folder not found: /workspace/nowhere'],
      'odd/outside': ['invalid_request', outside],
      'odd/link': ['invalid_request', outside],
      'odd/-dash': ['invalid_request', '/workspace/odd/-dash is no directory: read it as a file.'],
    };
    for (const [path, expected] of Object.entries(refused))
      expect(refusal(await callTool(client, 'list_files', { path }))).toEqual(expected);
  });
}
