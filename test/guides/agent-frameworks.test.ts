/** The programs of the guides of frameworks, unchanged, with a scripted model. */
import { afterAll, beforeAll, jest, test } from '@jest/globals';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { python, pythonMissing, unpackWheel } from '#test/client/support/python-environment.ts';
import { makeRun } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { agentPackages, agentsMissing } from './coding-agents.ts';
import { guideBlock } from './guide-page.ts';
import { integrationProject, integrationsMissing } from '#test/integrations/integration-packages.ts';
import { approveAndVisit, LOOPBACK_ONLY, MCP_SCRIPT, PAGE, type Program, runProgram } from './guided-run.ts';
import { type ScriptedCall, startScriptedModel } from './scripted-model.ts';

jest.setTimeout(180_000);

const PACKAGES = join(import.meta.dirname, '../../node_modules');
let porthole: TestHost;
let folder: string;

beforeAll(async () => {
  porthole = await startTestHost();
  folder = await mkdtemp(join(tmpdir(), 'porthole-guide-'));
});
afterAll(async () => {
  await porthole.end();
  await rm(folder, { recursive: true });
});

/** Runs a program as the agent of a new run, and approves its preview. */
async function guide(
  script: readonly ScriptedCall[],
  program: Omit<Program, 'cwd' | 'env'>,
  env: Program['env'] = {},
): Promise<void> {
  const model = await startScriptedModel(script);
  const run = await makeRun(porthole);
  const working = runProgram({
    ...program,
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      ...LOOPBACK_ONLY,
      ...env,
      PORTHOLE_URL: porthole.host.url,
      PORTHOLE_RUN: run.runId,
      PORTHOLE_TOKEN: run.agentToken,
      OPENAI_BASE_URL: `${model.url}/v1`,
      OPENAI_API_KEY: 'none',
      OPENAI_AGENTS_DISABLE_TRACING: '1',
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'none',
    },
  });
  await approveAndVisit(porthole, run, working);
  await model.close();
}

/** A program in a new folder, beside its packages. */
async function typescript(page: string, packages: string, index = 0): Promise<Omit<Program, 'cwd' | 'env'>> {
  const project = await mkdtemp(join(folder, 'project-'));
  await symlink(packages, join(project, 'node_modules'));
  await writeFile(join(project, 'package.json'), '{"type": "module"}');
  const file = join(project, 'agent.ts');
  await writeFile(file, guideBlock(page, 'typescript', index));
  return { command: process.execPath, args: ['--disable-warning=ExperimentalWarning', file] };
}

test('runs the TypeScript program of the guide of OpenAI Agents', async () => {
  await guide(MCP_SCRIPT, await typescript('openai-agents', PACKAGES));
});

suite('a guide in TypeScript', agentsMissing, () => {
  test.each(['ai-sdk', 'langgraph-typescript'])('runs the program of %s', async (page) => {
    await guide(MCP_SCRIPT, await typescript(page, agentPackages));
  });
});

/** As a page of the guides. */
const ADAPTERS = '../../integrations/README';

suite('a program of the page of adapters', integrationsMissing, () => {
  let packages: string;
  const show = { tool: 'show', input: { command: 'python3 -m http.server 3000', port: 3000 } };

  beforeAll(async () => {
    packages = join(await integrationProject(folder), 'node_modules');
  });

  test('runs the tools of bash-tool', async () => {
    const write = { tool: 'writeFile', input: { path: 'index.html', content: PAGE } };
    const look = { tool: 'bash', input: { command: 'cat index.html' } };
    await guide([write, look, show], await typescript(ADAPTERS, packages, 0));
  });

  test('runs a deep agent', async () => {
    const write = { tool: 'write_file', input: { file_path: '/workspace/index.html', content: PAGE } };
    await guide([write, show], await typescript(ADAPTERS, packages, 1));
  });
});

suite('a guide in Python', pythonMissing, () => {
  let wheel: Readonly<Record<string, string>>;
  const program = (...blocks: readonly string[]) => ({ command: python, args: ['-c', blocks.join('\n')] });
  const show: ScriptedCall = {
    tool: 'show',
    input: { command: 'python3 -m http.server 3000', port: 3000 },
  };

  beforeAll(async () => {
    wheel = await unpackWheel(folder);
  });

  test('runs the program of OpenAI Agents', async () => {
    await guide(MCP_SCRIPT, program(guideBlock('openai-agents', 'py')));
  });

  test('runs a deep agent', async () => {
    const write = { tool: 'write_file', input: { file_path: '/workspace/index.html', content: PAGE } };
    const blocks = [0, 1].map((index) => guideBlock('langgraph', 'py', index));
    await guide([write, show], program(...blocks), wheel);
  });

  test('runs an agent of LangGraph', async () => {
    const write = { tool: 'execute', input: { command: `printf %s '${PAGE}' > index.html` } };
    const blocks = [0, 2].map((index) => guideBlock('langgraph', 'py', index));
    await guide([write, show], program(...blocks), wheel);
  });
});
