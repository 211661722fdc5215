import type { TestHost } from '#test/support/in-process-host.ts';
import { ALICE } from './people.ts';

interface EditorProbe {
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const TOOL = {
  name: 't',
  language: 'python',
  source_code: 'def run(inputs, context): return {"outputs": 1}',
};

/** As `routeProbes`: of the editor, on a tool of alice's, with the token of its lock where that is needed. */
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

  return {
    createTool: async () => ({ body: TOOL }),
    listToolVersions: tool,
    createToolVersion: async () => ({ ...(await tool()), body: {} }),
    getToolDraft: tool,
    saveToolDraft: async () => ({ ...(await lockedTool()), body: {} }),
    takeDraftLock: async () => ({ ...(await tool()), body: {} }),
    renewDraftLock: lockedTool,
    releaseDraftLock: lockedTool,
  };
}
