import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE } from './support/people.ts';
import { makeRun, type MadeRun } from './support/runs.ts';

interface Waiting {
  readonly approvals: readonly { readonly request_id: string; readonly run_id: string }[];
}

describe('what waits for a decision', () => {
  let porthole: TestHost;
  let run: MadeRun;
  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
    run = await makeRun(porthole, ALICE);
  });
  afterAll(() => porthole.end());

  /** Each list that the stream sends, until one makes `follow` stop, which ends the connection. */
  async function* follow(token: string): AsyncGenerator<Waiting, void> {
    const response = await fetch(`${porthole.host.url}/api/approvals/events`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body ?? []) {
      const frames = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data !== undefined) yield JSON.parse(data) as Waiting;
      }
    }
  }

  const list = async (token: string) =>
    (await porthole.call('GET', '/api/approvals', { token })).json<Waiting & Record<string, unknown>>();

  test('is published to the owner and admins only, as it begins and ends', async () => {
    const stream = follow(ALICE);
    expect((await stream.next()).value).toEqual({ approvals: [] });

    const asking = porthole.call('POST', `/api/runs/${run.runId}/sandbox/preview`, {
      token: run.agentToken,
      body: { target_port: 3000 },
    });
    const reported = (await stream.next()).value as Waiting;
    expect(reported.approvals).toMatchObject([
      { run_id: run.runId, owner: 'alice', tool: 'start_preview', arguments: { target_port: 3000 } },
    ]);
    expect([await list(ALICE), await list(BOB), await list(ADA_ADMIN)]).toEqual([
      reported,
      { approvals: [] },
      reported,
    ]);

    await porthole.call('POST', `/api/runs/${run.runId}/tool-approvals`, {
      token: ALICE,
      body: { request_id: reported.approvals[0]?.request_id, decision: 'deny' },
    });
    expect((await stream.next()).value).toEqual({ approvals: [] });
    expect((await asking).status).toBe(403);
    await stream.return();
  });
});
