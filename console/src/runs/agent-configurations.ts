export interface AgentAccess {
  /** URL of Porthole, without a trailing slash. */
  readonly url: string;
  readonly runId: string;
  readonly token: string;
}

export interface AgentConfiguration {
  readonly id: string;
  /** Name of the client. */
  readonly words: string;
  /** Where to put the text. */
  readonly into: string;
  readonly text: string;
  /** The feature that it needs, if that can be off. */
  readonly feature?: 'mcp';
}

/**
 * The configuration that connects an agent to its run, for each client. Keep in sync with
 * docs/start/your-agent.md.
 */
export function agentConfigurations({ url, runId, token }: AgentAccess): readonly AgentConfiguration[] {
  const mcp = `${url}/mcp`;
  const bearer = `Bearer ${token}`;
  const headers = { Authorization: bearer };
  return [
    {
      id: 'claude-code',
      feature: 'mcp',
      words: 'Claude Code',
      into: 'Run it in the folder of your project.',
      text: `claude mcp add --transport http porthole ${mcp} --header "Authorization: ${bearer}"`,
    },
    {
      id: 'cursor',
      feature: 'mcp',
      words: 'Cursor',
      into: 'Add it to .cursor/mcp.json.',
      text: json({ mcpServers: { porthole: { url: mcp, headers } } }),
    },
    {
      id: 'vs-code',
      feature: 'mcp',
      words: 'VS Code',
      into: 'Add it to .vscode/mcp.json.',
      text: json({ servers: { porthole: { type: 'http', url: mcp, headers } } }),
    },
    {
      id: 'codex',
      feature: 'mcp',
      words: 'Codex',
      into: 'Add it to ~/.codex/config.toml.',
      text: `[mcp_servers.porthole]\nurl = "${mcp}"\nhttp_headers = { "Authorization" = "${bearer}" }\ntool_timeout_sec = 360`,
    },
    {
      id: 'framework',
      words: 'OpenAI Agents, AI SDK, LangGraph',
      into: 'Set these variables. The guides have a program that reads them.',
      text: `export PORTHOLE_URL=${url}\nexport PORTHOLE_RUN=${runId}\nexport PORTHOLE_TOKEN=${token}`,
    },
    {
      id: 'mcp',
      feature: 'mcp',
      words: 'Any MCP client',
      into: 'Use the streamable HTTP transport with this header. With curl:',
      text: [
        `curl ${mcp} \\`,
        `  -H 'Authorization: ${bearer}' \\`,
        `  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\`,
        `  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "start_run", "arguments": {}}}'`,
      ].join('\n'),
    },
    {
      id: 'typescript',
      words: 'TypeScript',
      into: 'Use the client library: npm run build in the clone, or npm pack --workspace client there and npm install of the tarball in your project.',
      text: [
        `import { Porthole } from '@porthole/client';`,
        '',
        `const porthole = new Porthole({ url: '${url}', apiKey: '${token}' });`,
        `const run = await porthole.agentRun('${runId}');`,
        `console.log(await run.exec('echo connected').collect());`,
      ].join('\n'),
    },
    {
      id: 'python',
      words: 'Python',
      into: 'Use the Python package: pip install ./python in the clone.',
      text: [
        `from porthole import Porthole`,
        '',
        `run = Porthole("${url}", "${token}").agent_run("${runId}")`,
        `print(run.exec("echo connected").text())`,
      ].join('\n'),
    },
  ];
}

function json(value: object): string {
  return JSON.stringify(value, null, 2);
}
