import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { command } from '#test/cluster/fixture/command.ts';
import type { TestHost } from '#test/support/in-process-host.ts';
import type { Jaeger } from '#test/support/jaeger.ts';
import { TracedService } from '#test/support/traced-service.ts';
import { approvalsAsked, decide } from './approvals.ts';
import { makeRun } from './runs.ts';

/** Paths of its spans, as Jaeger has them here. */
export const RUN_COMMAND = 'agent invoke_agent › agent execute_tool run_command › porthole POST /mcp';
export const START_PREVIEW = 'agent invoke_agent › agent execute_tool start_preview › porthole POST /mcp';
export const GET_APP = 'agent invoke_agent › agent GET';

const SHOP = join(import.meta.dirname, 'traced-shop.ts');
const BUNDLER = join(import.meta.dirname, '../../../node_modules/.bin/rolldown');

/** Gets the body of a page of a preview. */
type Visit = (url: URL, headers: Readonly<Record<string, string>>) => Promise<string>;

export interface TracedWork {
  readonly traceId: string;
  readonly sandboxId: string;
  /** What a command found in `TRACEPARENT`. */
  readonly traceparent: string;
  readonly page: string;
}

/**
 * An agent that runs a command, starts an app, opens its preview once a person approves, and visits
 * it: one trace. Its spans and those of the app are sent to Jaeger as JSON.
 */
export async function runTracedAgent(
  porthole: TestHost,
  jaeger: Pick<Jaeger, 'send'>,
  visit: Visit,
): Promise<TracedWork> {
  const { runId, sandboxId, agentToken } = await makeRun(porthole);
  const file = `/v1/sandbox/${sandboxId}/file/workspace/shop.mjs`;
  const written = await porthole.call('PUT', file, { body: await bundledShop() });
  if (written.status >= 300) throw new Error(`no app: ${written.status} ${written.text}`);

  const agent = new TracedService('agent');
  let present: Readonly<Record<string, string>> = {};
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const url = new URL('/mcp', porthole.host.url);
  await client.connect(
    new StreamableHTTPClientTransport(url, {
      fetch(to, init) {
        const headers = { ...Object.fromEntries(new Headers(init?.headers)), ...present };
        return fetch(to, { ...init, headers: { ...headers, authorization: `Bearer ${agentToken}` } });
      },
    }),
  );
  try {
    return await agent.run('invoke_agent', {}, 'INTERNAL', async (turn) => {
      const tool = (name: string, args: Readonly<Record<string, unknown>>): Promise<unknown> =>
        agent.run(`execute_tool ${name}`, turn, 'CLIENT', async (headers) => {
          present = headers;
          return (await client.callTool({ name, arguments: args })).structuredContent;
        });
      const ran = await tool('run_command', { command: 'node --check shop.mjs && printf %s "$TRACEPARENT"' });
      await tool('start_server', { name: 'shop', command: 'node shop.mjs', port: 3000 });
      const opening = tool('start_preview', { port: 3000, check: false });
      const [asked] = await approvalsAsked(porthole, runId);
      await decide(porthole, runId, { request_id: asked?.data['request_id'], decision: 'approve' });
      const opened = (await opening) as { readonly preview_url: string };
      const preview = new URL(opened.preview_url);
      const page = await agent.run('GET', turn, 'CLIENT', (headers) => visit(preview, headers));
      await jaeger.send(await visit(new URL('/spans', preview), {}));
      return {
        traceId: turn['traceparent']?.split('-')[1] ?? '',
        sandboxId,
        traceparent: (ran as { readonly stdout: string }).stdout,
        page,
      };
    });
  } finally {
    await jaeger.send(agent.spans());
    await client.close();
  }
}

async function bundledShop(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-shop-'));
  try {
    const file = join(folder, 'shop.mjs');
    const options = ['--platform=node', '--no-codeSplitting', `--file=${file}`];
    await command([process.execPath, BUNDLER, SHOP, ...options]);
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
