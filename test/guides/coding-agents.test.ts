/**
 * The guides of coding agents, with their own programs where npm has these: they read the
 * configuration of the page, and work through it with a scripted model.
 */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { callTool } from '#test/host/support/mcp-clients.ts';
import { type MadeRun, makeRun } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { agentsMissing, claudeCode, codex } from './coding-agents.ts';
import { connectedBlock } from './guide-page.ts';
import { approveAndVisit, LOOPBACK_ONLY, MCP_SCRIPT, runProgram } from './guided-run.ts';
import { type ScriptedModel, startScriptedModel } from './scripted-model.ts';

jest.setTimeout(180_000);

const PROMPT = 'Make a page and show it to me.';
let porthole: TestHost;
let model: ScriptedModel;
let folder: string;
let run: MadeRun;
const access = () => ({ url: porthole.host.url, token: run.agentToken });

beforeAll(async () => {
  porthole = await startTestHost();
  model = await startScriptedModel(MCP_SCRIPT);
});
afterAll(async () => {
  await model.close();
  await porthole.end();
});

suite('the guide of Claude Code', agentsMissing, () => {
  const claude = (...args: readonly string[]) =>
    runProgram({
      command: claudeCode,
      args,
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        ...LOOPBACK_ONLY,
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        // The script knows the tools from the first request.
        ENABLE_TOOL_SEARCH: 'false',
      },
    });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'porthole-guide-'));
    run = await makeRun(porthole);
    const [command = '', ...args] = wordsOf(connectedBlock('claude-code', 'text', access()));
    expect(command).toBe('claude');
    await claude(...args);
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('connects with the command of the page', async () => {
    expect(await claude('mcp', 'list')).toMatch(/^porthole: http:\S+\/mcp \(HTTP\) - ✔ Connected$/m);
  });

  test('shows its server after a person approves', async () => {
    const working = claude('--print', PROMPT, '--allowedTools', 'mcp__porthole');
    await approveAndVisit(porthole, run, working);
  });
});

suite('the guide of Codex', agentsMissing, () => {
  const codexWith = (...args: readonly string[]) =>
    runProgram({
      command: codex,
      args,
      cwd: folder,
      env: {
        PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
        HOME: folder,
        ...LOOPBACK_ONLY,
        SCRIPTED_KEY: 'none',
      },
    });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'porthole-guide-'));
    run = await makeRun(porthole);
    await mkdir(join(folder, '.codex'));
    await writeFile(join(folder, '.codex/config.toml'), connectedBlock('codex', 'toml', access()));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('reads the configuration of the page', async () => {
    const [server] = z
      .array(z.object({ name: z.string(), enabled: z.boolean(), auth_status: z.string() }).loose())
      .parse(JSON.parse(await codexWith('mcp', 'list', '--json')));
    expect(server).toMatchObject({ name: 'porthole', enabled: true, auth_status: 'bearer_token' });
    expect(server).toMatchObject({ tool_timeout_sec: 360 });
  });

  test('shows its server after a person approves', async () => {
    const provider = `{name = "scripted", base_url = "${model.url}/v1", env_key = "SCRIPTED_KEY", wire_api = "responses"}`;
    const settings = [
      'model="scripted"',
      'model_provider="scripted"',
      `model_providers.scripted=${provider}`,
      // Interactively, Codex asks its user before it calls a tool that writes.
      'mcp_servers.porthole.default_tools_approval_mode="approve"',
    ].flatMap((setting) => ['--config', setting]);
    const working = codexWith(
      'exec',
      '--strict-config',
      '--skip-git-repo-check',
      '--ephemeral',
      ...settings,
      PROMPT,
    );
    await approveAndVisit(porthole, run, working);
  });
});

/** Of `type`, only `http`: VS Code requires it, Cursor tells the kind from `url`. */
const Server = z.strictObject({ url: z.url(), headers: z.record(z.string(), z.string()).optional() });
const EDITORS = [
  {
    editor: 'Cursor',
    page: 'cursor',
    format: z
      .strictObject({ mcpServers: z.strictObject({ porthole: Server }) })
      .transform(({ mcpServers }) => mcpServers.porthole),
  },
  {
    editor: 'VS Code',
    page: 'vs-code',
    format: z
      .strictObject({
        servers: z.strictObject({ porthole: Server.extend({ type: z.literal('http') }) }),
      })
      .transform(({ servers }) => servers.porthole),
  },
];

test.each(EDITORS)('connects with the configuration of the guide of $editor', async ({ page, format }) => {
  run = await makeRun(porthole);
  const { url, headers } = format.parse(JSON.parse(connectedBlock(page, 'json', access())));
  const client = new Client({ name: page, version: '1.0.0' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), headers ? { requestInit: { headers } } : {}),
  );
  async function work(): Promise<string> {
    let last = '';
    for (const { tool, input } of MCP_SCRIPT) last = (await callTool(client, tool, input)).text;
    return last;
  }
  await approveAndVisit(porthole, run, work());
  await client.close();
});

/** Words of a command line, with double quotes. */
function wordsOf(line: string): string[] {
  return [...line.trim().matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}
