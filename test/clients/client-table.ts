/** Clients of other projects that `npm run test:clients` tries, and the programs that use them. */

/** Versions of packages beside the client, which it imports and does not install. */
type Packages = Readonly<Record<string, string>>;

export interface Client {
  /** Name in the results. */
  readonly id: string;
  /** As the page names it. */
  readonly title: string;
  readonly registry: 'npm' | 'PyPI';
  readonly package: string;
  readonly alongside?: Packages;
  /** A file of `programs`. */
  readonly program: string;
  readonly args?: readonly string[];
  /** Older releases that are tried as well. */
  readonly older?: readonly string[];
}

/** How many releases are tried: the newest, and the last of earlier minor versions. */
export const RELEASES = 6;

const E2B_NPM: Packages = { e2b: '2.51.0' };
const E2B_PYPI: Packages = { e2b: '2.63.0', 'e2b-code-interpreter': '2.11.5' };

export const CLIENTS: readonly Client[] = [
  {
    id: 'e2b-js',
    title: 'E2B, JavaScript',
    registry: 'npm',
    package: 'e2b',
    program: 'e2b.mjs',
    args: ['e2b'],
    older: ['2.20.1'],
  },
  {
    id: 'e2b-python',
    title: 'E2B, Python',
    registry: 'PyPI',
    package: 'e2b',
    program: 'e2b_python.py',
    args: ['e2b'],
    older: ['2.20.3', '2.0.0'],
  },
  {
    id: 'interpreter-js',
    title: "E2B's code interpreter, JavaScript",
    registry: 'npm',
    package: '@e2b/code-interpreter',
    program: 'e2b.mjs',
    args: ['@e2b/code-interpreter'],
  },
  {
    id: 'interpreter-python',
    title: "E2B's code interpreter, Python",
    registry: 'PyPI',
    package: 'e2b-code-interpreter',
    program: 'e2b_python.py',
    args: ['e2b_code_interpreter'],
  },
  {
    id: 'openai-e2b-js',
    title: 'OpenAI Agents with E2B, JavaScript',
    registry: 'npm',
    package: '@openai/agents-extensions',
    alongside: E2B_NPM,
    program: 'openai-agents.mjs',
    args: ['e2b'],
  },
  {
    id: 'openai-e2b-python',
    title: 'OpenAI Agents with E2B, Python',
    registry: 'PyPI',
    package: 'openai-agents',
    alongside: E2B_PYPI,
    program: 'openai_agents.py',
    args: ['e2b'],
  },
  {
    id: 'openai-bridge-js',
    title: "OpenAI Agents with Cloudflare's bridge 0.12, JavaScript",
    registry: 'npm',
    package: '@openai/agents-extensions',
    alongside: E2B_NPM,
    program: 'openai-agents.mjs',
    args: ['cloudflare'],
  },
  {
    id: 'openai-bridge-python',
    title: "OpenAI Agents with Cloudflare's bridge 0.12, Python",
    registry: 'PyPI',
    package: 'openai-agents',
    alongside: { ...E2B_PYPI, aiohttp: '3.14.2' },
    program: 'openai_agents.py',
    args: ['cloudflare'],
  },
  {
    id: 'computesdk',
    title: 'ComputeSDK with E2B',
    registry: 'npm',
    package: '@computesdk/e2b',
    program: 'computesdk.mjs',
  },
  {
    id: 'mastra',
    title: 'Mastra with E2B',
    registry: 'npm',
    package: '@mastra/e2b',
    program: 'mastra.mjs',
  },
  {
    id: 'deepagents',
    title: 'Deep Agents with E2B, Python',
    registry: 'PyPI',
    package: 'langchain-e2b',
    program: 'deep_agents.py',
  },
  {
    id: 'mcp-js',
    title: 'MCP SDK, TypeScript, version 1',
    registry: 'npm',
    package: '@modelcontextprotocol/sdk',
    program: 'mcp.mjs',
    args: ['@modelcontextprotocol/sdk'],
  },
  {
    id: 'mcp-js-2',
    title: 'MCP SDK, TypeScript, version 2',
    registry: 'npm',
    package: '@modelcontextprotocol/client',
    program: 'mcp.mjs',
    args: ['@modelcontextprotocol/client'],
  },
  {
    id: 'mcp-python',
    title: 'MCP SDK, Python',
    registry: 'PyPI',
    package: 'mcp',
    program: 'mcp_python.py',
  },
];
