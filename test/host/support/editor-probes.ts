import type { TestHost } from '#test/support/in-process-host.ts';
import { editorOf, form } from './editor.ts';
import { ALICE } from './people.ts';

interface EditorProbe {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const TOOL = {
  name: 't',
  language: 'python',
  source_code: 'def run(inputs, context): return {"outputs": 1, "next_actions": [{"id": "again"}]}',
};

/** Like `routeProbes`, for the editor, on a tool of alice's, with its lock token where needed. */
export function editorProbes(porthole: TestHost): Readonly<Record<string, () => Promise<EditorProbe>>> {
  async function tool() {
    const made = await porthole.call('POST', '/api/v1/editor/tools', { token: ALICE, body: TOOL });
    return { params: made.json<{ tool_id: string; version_id: string }>() };
  }

  async function lockedTool() {
    const { params } = await tool();
    const path = `/api/v1/editor/tools/${params.tool_id}/draft/lock`;
    const taken = await porthole.call('POST', path, { token: ALICE, body: {} });
    return { params, headers: { 'draft-lock-token': taken.json<{ lock_token: string }>().lock_token } };
  }

  async function ranTool() {
    const editor = editorOf(porthole, ALICE);
    const { params } = await tool();
    const lock = await editor.takeLock(params);
    return { tool: params, lock, run: await editor.run(params, lock) };
  }

  return {
    createTool: async () => ({ body: TOOL }),
    getTool: tool,
    renameTool: async () => ({ ...(await tool()), body: { name: 'Another' } }),
    deleteTool: tool,
    listToolVersions: tool,
    createToolVersion: async () => ({ ...(await tool()), body: {} }),
    getToolDraft: tool,
    saveToolDraft: async () => ({ ...(await lockedTool()), body: {} }),
    takeDraftLock: async () => ({ ...(await tool()), body: {} }),
    renewDraftLock: lockedTool,
    releaseDraftLock: lockedTool,
    runToolSandbox: async () => {
      const { params, headers } = await lockedTool();
      const sent = form([]);
      return { params, body: sent.body, headers: { ...headers, ...sent.headers } };
    },
    startToolAction: async () => {
      const { tool, lock, run } = await ranTool();
      const body = { snapshot_id: run.snapshot_id, action_id: 'again' };
      return { params: { ...tool, run_id: run.run_id }, headers: { 'draft-lock-token': lock }, body };
    },
    getToolRun: async () => ({ params: { run_id: (await ranTool()).run.run_id } }),
    listToolRuns: async () => ({ query: `?tool_id=${(await tool()).params.tool_id}` }),
  };
}
