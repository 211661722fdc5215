import { describe, expect, test } from '@jest/globals';
import type { TestHost } from '#test/support/in-process-host.ts';
import { approvalsAsked, decide, readTimeline } from '../support/approvals.ts';
import { callTool, type McpClients, refusal } from '../support/mcp-clients.ts';
import { ALICE, BOB } from '../support/people.ts';
import { makeRun } from '../support/runs.ts';

interface Forked {
  readonly forks: readonly { readonly sandbox_id: string; readonly run_id: string | null }[];
  readonly errors: readonly string[];
}

export function mcpCheckpoints(porthole: () => TestHost, { overHttp }: McpClients): void {
  describe('the tools of checkpoints', () => {
    test('make, list and restore one, for the agent of the run', async () => {
      const agent = await overHttp((await makeRun(porthole(), ALICE)).agentToken);
      const read = async () => (await callTool(agent, 'read_file', { path: 'a' })).text;
      await callTool(agent, 'write_file', { path: 'a', content: 'first' });
      const made = await callTool(agent, 'checkpoint', { label: 'good' });
      expect(made.text).toMatch(/^Checkpoint ckp_\w+ \(good\) has \d+ files\.$/);
      const { made: checkpoint } = made.structuredContent as { made: string };
      await callTool(agent, 'write_file', { path: 'a', content: 'second' });
      const restored = await callTool(agent, 'restore', { checkpoint });
      expect(restored.text).toMatch(/^Restored ckp_\w+ \(good\): 1 written, 0 removed\. To undo it/);
      expect(await read()).toContain('first');
      const { before } = restored.structuredContent as { before: string };
      expect((await callTool(agent, 'checkpoint', { list: true })).structuredContent).toMatchObject({
        made: null,
        current: checkpoint,
        checkpoints: [
          { id: checkpoint, label: 'good', cause: 'manual' },
          { id: before, label: null, cause: 'restore' },
        ],
      });
      await callTool(agent, 'restore', { checkpoint: before });
      expect(await read()).toContain('second');
      expect(refusal(await callTool(agent, 'restore', { checkpoint: 'ckp_none' }))[0]).toBe(
        'checkpoint_not_found',
      );
    });

    test('fork for a person, with a run in each fork', async () => {
      const owner = await overHttp(ALICE);
      const { runId: run_id } = await makeRun(porthole(), ALICE);
      await callTool(owner, 'write_file', { run_id, path: 'a', content: 'shared' });
      const { structuredContent } = await callTool(owner, 'fork', { run_id, count: 2 });
      const { forks, errors } = structuredContent as unknown as Forked;
      expect([forks.length, errors]).toEqual([2, []]);
      for (const fork of forks) {
        const file = { run_id: fork.run_id, path: 'a' };
        expect((await callTool(owner, 'read_file', file)).text).toContain('shared');
      }
      const [first, second] = forks;
      await callTool(owner, 'write_file', { run_id: first?.run_id, path: 'b', content: 'new' });
      const compared = await callTool(owner, 'compare_forks', { run_id, fork: first?.sandbox_id });
      expect([compared.text, compared.structuredContent]).toMatchObject([
        'added b',
        { total: 1, changes: [{ path: 'b', change: 'added' }], servers: [] },
      ]);
      const same = await callTool(owner, 'compare_forks', { run_id, fork: second?.sandbox_id });
      expect(same.text).toBe('Nothing differs.');
      const unrelated = await makeRun(porthole(), ALICE);
      const refused = await callTool(owner, 'compare_forks', { run_id, fork: unrelated.sandboxId });
      expect(refusal(refused)[0]).toBe('invalid_request');
      const other = await overHttp(BOB);
      expect(refusal(await callTool(other, 'fork', { run_id }))[0]).toBe('foreign_run');
    });

    test('fork for an agent only what its owner approves, each time, and give it no access', async () => {
      // An option that opens previews without a question makes no sandboxes.
      const { runId, sandboxId, agentToken } = await makeRun(porthole(), ALICE, { auto_approve_tools: true });
      const agent = await overHttp(agentToken);
      const decideOn = async (count: number, decision: string) => {
        const asked = (await approvalsAsked(porthole(), runId, { count, token: ALICE })).at(-1);
        expect(asked?.data).toMatchObject({ tool: 'fork', count: 2 });
        expect(asked?.data['message']).toBe('Make 2 sandboxes with the files of this sandbox?');
        await decide(porthole(), runId, { request_id: asked?.data['request_id'], decision }, ALICE);
      };
      const first = callTool(agent, 'fork', { count: 2 });
      await decideOn(1, 'approve');
      const { forks } = (await first).structuredContent as unknown as Forked;
      expect(forks).toEqual([1, 2].map(() => ({ sandbox_id: expect.any(String), run_id: null })));
      const [{ sandbox_id: fork } = { sandbox_id: '' }] = forks;
      const asAgent = await porthole().call('GET', `/v1/sandbox/${fork}/checkpoints`, { token: agentToken });
      expect(asAgent.status).toBe(404);
      expect((await porthole().call('GET', `/v1/sandbox/${fork}`, { token: ALICE })).status).toBe(200);
      expect((await callTool(agent, 'compare_forks', { fork })).text).toBe('Nothing differs.');
      const texts = { body: { with: fork, texts: ['a'] }, token: agentToken };
      const path = `/v1/sandbox/${sandboxId}/compare`;
      expect((await porthole().call('POST', path, texts)).json<{ code: string }>().code).toBe('forbidden');
      const foreign = await makeRun(porthole(), ALICE);
      const refused = await callTool(agent, 'compare_forks', { fork: foreign.sandboxId });
      expect(refusal(refused)[0]).toBe('sandbox_not_found');
      const second = callTool(agent, 'fork', { count: 2 });
      await decideOn(2, 'deny');
      expect(refusal(await second)[0]).toBe('approval_denied');
      const events = (await readTimeline(porthole(), runId, ALICE)).map(({ type }) => type);
      expect(events.filter((type) => type === 'checkpoint.forked')).toHaveLength(2);
    });
  });
}
