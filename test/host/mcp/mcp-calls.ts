import { beforeAll, describe, expect, test } from '@jest/globals';
import type { TestHost } from '#test/support/in-process-host.ts';
import { decide, readTimeline } from '../support/approvals.ts';
import { execute, serve } from '../support/commands.ts';
import {
  type AnyClient,
  callTool,
  type McpClients,
  type Progress,
  PROTOCOLS,
  refusal,
  URL_IN,
} from '../support/mcp-clients.ts';
import { ALICE, BOB } from '../support/people.ts';
import { type MadeRun, makeRun } from '../support/runs.ts';

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
};

/** Calls that take long: they are cancelled, report their progress, and wait for a person. */
export function mcpCalls(porthole: () => TestHost, { overHttp }: McpClients): void {
  describe('a long call', () => {
    let run: MadeRun;
    beforeAll(async () => {
      run = await makeRun(porthole(), ALICE, { auto_approve_tools: true });
    });

    /** Calls a tool, and cancels the call once `began` holds. */
    const cancel = async (client: AnyClient, name: string, args: object, began: () => Promise<boolean>) => {
      const cancelling = new AbortController();
      const outcome = callTool(client, name, args, { signal: cancelling.signal }).then(
        () => 'answered',
        () => 'cancelled',
      );
      await until(began);
      cancelling.abort('no longer needed');
      expect(await outcome).toBe('cancelled');
    };

    test.each(PROTOCOLS)('is cancelled with its command, and no other, in %s', async (protocol) => {
      // Their requests have the same ids, but they are two conversations with one key.
      const [one, two] = [await overHttp(ALICE, protocol), await overHttp(ALICE, protocol)];
      const { runId: run_id, sandboxId } = run;
      const other = callTool(two, 'run_command', {
        run_id,
        command: `until [ -e go-${protocol} ]; do sleep 0.05; done; echo done`,
      });
      const path = `/v1/sandbox/${sandboxId}/file/workspace/a-${protocol}`;
      await cancel(
        one,
        'run_command',
        { run_id, command: `touch a-${protocol}; exec sleep 4242` },
        async () => (await porthole().call('GET', path, { token: ALICE })).status === 200,
      );
      const pgrep = ['pgrep', '-xf', 'sleep 4242'];
      await until(async () => (await execute(porthole(), sandboxId, pgrep, { token: ALICE })).exitCode === 1);
      await callTool(two, 'write_file', { run_id, path: `go-${protocol}`, content: '' });
      expect((await other).structuredContent).toMatchObject({ exit_code: 0, stdout: 'done\n' });
    });

    test.each(PROTOCOLS)('is withdrawn from its approval by a cancellation in %s', async (protocol) => {
      const own = await makeRun(porthole(), ALICE);
      const has = (wanted: string) => async () =>
        (await readTimeline(porthole(), own.runId, ALICE)).some(({ type }) => type === wanted);
      const client = await overHttp(own.agentToken, protocol);
      await cancel(client, 'start_preview', { port: 3000 }, has('tool.approval_required'));
      await until(has('tool.withdrawn'));
    });

    test('is cancelled by no client with another key', async () => {
      const client = await overHttp(run.agentToken);
      const command = 'until [ -e go ]; do sleep 0.05; done; echo done';
      const calling = callTool(client, 'run_command', { command });
      const headers = { accept: 'application/json, text/event-stream' };
      for (const requestId of [1, 2, 3]) {
        const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
        expect((await porthole().call('POST', '/mcp', { token: BOB, headers, body })).status).toBe(202);
      }
      await callTool(client, 'write_file', { path: 'go', content: '' });
      expect((await calling).structuredContent).toMatchObject({ stdout: 'done\n' });
    });

    test('reports how long it takes', async () => {
      const heard = await Promise.all(
        PROTOCOLS.map(async (protocol) => {
          const client = await overHttp(run.agentToken, protocol);
          const { promise, resolve: onprogress } = Promise.withResolvers<Progress>();
          const cancelling = new AbortController();
          const options = { onprogress, signal: cancelling.signal };
          const running = callTool(client, 'run_command', { command: 'sleep 60' }, options);
          const outcome = running.catch(() => 'cancelled');
          const { progress, total, message } = await promise;
          cancelling.abort();
          return [Math.round(progress), total, message, await outcome];
        }),
      );
      const expected = [10, undefined, 'Run a command: 10 s', 'cancelled'];
      expect(heard).toEqual([expected, expected]);
    });
  });

  describe('a preview that an MCP client asks for', () => {
    let run: MadeRun;
    beforeAll(async () => {
      run = await makeRun(porthole(), ALICE);
      await serve(porthole(), run.sandboxId, 3000, 'hello', ALICE);
    });

    /** The request that waits for a decision, once it exists. */
    const requested = async (): Promise<string> => {
      for (;;) {
        const events = (await readTimeline(porthole(), run.runId, ALICE)).map(({ type, data }) => ({
          isAsked: type === 'tool.approval_required',
          id: String(data['request_id']),
        }));
        const ended = new Set(events.flatMap(({ isAsked, id }) => (isAsked ? [] : [id])));
        const waiting = events.find(({ isAsked, id }) => isAsked && !ended.has(id));
        if (waiting !== undefined) return waiting.id;
      }
    };
    const decideOn = (request_id: string, decision: string, more: object = {}) =>
      decide(porthole(), run.runId, { request_id, decision, ...more }, ALICE);

    test.each(PROTOCOLS)('waits for a person, and says so meanwhile, in %s', async (protocol) => {
      const client = await overHttp(run.agentToken, protocol);
      const { promise: first, resolve: onprogress } = Promise.withResolvers<Progress>();
      const asking = callTool(client, 'start_preview', { port: 3000 }, { onprogress });
      expect(await first).toMatchObject({
        total: 300,
        message: expect.stringMatching(
          /^Waiting for a person to approve \(request \w+, until 20.*Z\): Open a live preview of port \d+\? Anyone/,
        ),
      });
      expect((await decideOn(await requested(), 'approve')).status).toBe(200);
      expect((await asking).text).toMatch(URL_IN);
      expect((await callTool(client, 'stop_preview', { port: 3000 })).isError).toBeUndefined();
    });

    test('is shared by a link once its owner approves, with the level in the question', async () => {
      const client = await overHttp(run.agentToken);
      const starting = callTool(client, 'start_preview', { port: 3000 });
      await decideOn(await requested(), 'approve');
      await starting;
      const { promise: first, resolve: onprogress } = Promise.withResolvers<Progress>();
      const link = { port: 3000, label: 'carol', level: 'signed_in' };
      const asking = callTool(client, 'share_preview', link, { onprogress });
      expect((await first).message).toContain('Everyone who is signed in and has the link can see the app.');
      await decideOn(await requested(), 'approve');
      const { text, structuredContent } = await asking;
      expect(text).toMatch(/^The link to the preview of port 3000: http:\S+#lnk_\w+\.[a-z2-7]{32}$/);
      expect(structuredContent).toEqual({
        url: expect.stringContaining('/open?preview='),
        link_id: expect.stringMatching(/^lnk_/),
      });
      await callTool(client, 'stop_preview', { port: 3000 });
      expect(refusal(await callTool(client, 'share_preview', link))[0]).toBe('preview_not_found');
    });

    test('is decided by its owner over MCP, and not by the agent', async () => {
      const agent = await overHttp(run.agentToken);
      const names = (await agent.listTools()).tools.map(({ name }) => name);
      expect(names).not.toContain('decide_approval');
      const asking = callTool(agent, 'start_preview', { port: 3000 });
      const request_id = await requested();
      const decision = { run_id: run.runId, request_id, decision: 'approve' };
      expect(refusal(await callTool(agent, 'decide_approval', decision))[0]).toBe('forbidden');
      expect(refusal(await callTool(agent, 'list_approvals'))[0]).toBe('forbidden');
      const [owner, other] = [await overHttp(ALICE), await overHttp(BOB)];
      expect((await callTool(other, 'list_approvals')).text).toBe('Nothing waits for approval.');
      expect(refusal(await callTool(other, 'decide_approval', decision))[0]).toBe('foreign_run');
      expect((await callTool(owner, 'list_approvals')).structuredContent).toMatchObject({
        approvals: [{ request_id, run_id: run.runId }],
      });
      expect((await callTool(owner, 'decide_approval', decision)).text).toBe('The request is approved.');
      expect((await asking).text).toMatch(URL_IN);
      await callTool(owner, 'stop_preview', { run_id: run.runId, port: 3000 });
    });

    test('returns an error with the person’s reason when it is denied', async () => {
      const client = await overHttp(run.agentToken);
      const asking = callTool(client, 'start_preview', { port: 3000 });
      await decideOn(await requested(), 'deny', { reason: 'not before Monday' });
      expect(refusal(await asking)).toEqual(['approval_denied', expect.stringMatching(/not before Monday/)]);
    });

    test.each(PROTOCOLS)('is withdrawn when the client goes away, in %s', async (protocol) => {
      const client = await overHttp(run.agentToken, protocol);
      const asking = callTool(client, 'start_preview', { port: 3000 }).catch(() => 'gone');
      const id = await requested();
      await client.close();
      expect(await asking).toBe('gone');
      await until(async () =>
        (await readTimeline(porthole(), run.runId, ALICE)).some(
          ({ type, data }) => type === 'tool.withdrawn' && data['request_id'] === id,
        ),
      );
      expect((await decideOn(id, 'approve')).status).toBe(409);
    });
  });
}
