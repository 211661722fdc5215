import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createPreviewTools } from '../../../agent/create-preview-tools.ts';
import { execute } from './commands.ts';
import type { Callable, MadeRun } from './runs.ts';

/** The outcome of an agent's request for a preview. */
export interface Wish {
  readonly outcome: 'opened' | 'denied' | 'timed_out' | 'failed';
  /** The text that the agent gets. */
  readonly text: string;
}

/** Where the functions run, and who may run commands in the sandbox. */
export interface Place {
  readonly url: string;
  readonly porthole: Callable;
  readonly owner: string | undefined;
}

/** Every way for an agent to request a preview, except the route itself. */
export const SURFACES: Readonly<
  Record<string, (place: Place, run: MadeRun, port: number, signal?: AbortSignal) => Promise<Wish>>
> = {
  async 'the command in the sandbox'({ porthole, owner }, { sandboxId }, port) {
    const { exitCode, stdout, stderr } = await execute(
      porthole,
      sandboxId,
      ['porthole', 'preview', String(port)],
      owner === undefined ? {} : { token: owner },
    );
    const outcomes: Record<number, Wish['outcome']> = { 0: 'opened', 3: 'denied', 4: 'timed_out' };
    return {
      outcome: outcomes[exitCode ?? -1] ?? 'failed',
      text: `${stdout.toString()}${stderr.toString()}`,
    };
  },

  async 'the library'({ url }, { runId, agentToken }, port) {
    const [start] = createPreviewTools({ runId, agentToken, baseUrl: url });
    const { text, isError, code } = await start.execute({ port });
    return { outcome: outcomeOf(isError, code), text };
  },

  async 'the MCP tool'({ url }, { runId, agentToken }, port, signal) {
    const client = new Client({ name: 'tests', version: '1.0.0' });
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
      requestInit: { headers: { authorization: `Bearer ${agentToken}` } },
    });
    await client.connect(transport);
    try {
      const call = { name: 'start_preview', arguments: { run_id: runId, port } };
      const options = signal === undefined ? {} : { signal };
      const { content, isError, _meta } = await client.callTool(call, undefined, options);
      const [first] = content as { text: string }[];
      return { outcome: outcomeOf(isError === true, _meta?.['porthole/code']), text: first?.text ?? '' };
    } finally {
      await client.close();
    }
  },
};

function outcomeOf(isError: boolean, code: unknown): Wish['outcome'] {
  if (!isError) return 'opened';
  if (code === 'approval_denied') return 'denied';
  return code === 'approval_timed_out' ? 'timed_out' : 'failed';
}
