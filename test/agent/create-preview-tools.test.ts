import { describe, expect, test } from '@jest/globals';
import { agentToolsContract } from '#test/contracts/agent-tools.contract.ts';
import { createPreviewTools } from '../../agent/create-preview-tools.ts';
import { answerJson, heldServer } from './held-server.ts';

describe('the tools of an agent, on a real host', () => {
  agentToolsContract(() => ({}));
});

describe('the tools of an agent', () => {
  test('take the port, and for a link whom it is for, from the model', () => {
    const tools = createPreviewTools({ runId: 'run_1', agentToken: 'x', baseUrl: 'http://127.0.0.1:1' });
    expect(
      tools.map(({ name, inputSchema: { properties, required } }) => [
        name,
        Object.keys(properties),
        required,
      ]),
    ).toEqual([
      ['start_preview', ['port'], ['port']],
      ['stop_preview', ['port'], ['port']],
      ['preview_status', ['port'], []],
      ['share_preview', ['port', 'label', 'level', 'expires_in', 'max_uses', 'may_wake'], ['port', 'label']],
    ]);
    for (const { inputSchema, description } of tools) {
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(description.length).toBeGreaterThan(40);
    }
  });

  test.each(['approval_denied', 'approval_timed_out', 'too_many_previews'])(
    'pass on %s in Porthole’s words, which say what to do',
    async (code) => {
      const text = 'Denied: not now. Do not ask again.';
      const server = await heldServer((_req, res) => answerJson(res, 403, { error: text, code }));
      const [start] = createPreviewTools({ runId: 'run_1', agentToken: 'x', baseUrl: server.url });
      expect(await start.execute({ port: 3000 })).toEqual({ text, isError: true, code });
      await server.end();
    },
  );
});
