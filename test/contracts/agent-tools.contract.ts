import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { serve } from '#test/host/support/commands.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { type MadeRun, makeRun } from '#test/host/support/runs.ts';
import { createPreviewTools, type PreviewTool } from '../../agent/create-preview-tools.ts';

const URL_OF = /http:\/\/([a-z0-9-]+)-preview\.localhost:\d+/;

/**
 * The contract of an agent's tools on a real host with sandboxes of any provider; `settings` are
 * those of the host, beside its users.
 */
export function agentToolsContract(settings: () => Readonly<Record<string, string>>): void {
  let porthole: TestHost;
  let run: MadeRun;
  let start: PreviewTool;
  let stop: PreviewTool;
  let status: PreviewTool;
  let share: PreviewTool;
  const toolsOf = ({ runId, agentToken }: MadeRun) =>
    createPreviewTools({ runId, agentToken, baseUrl: porthole.host.url });

  beforeAll(async () => {
    porthole = await startTestHost({ ...PEOPLE, ...settings() });
    run = await makeRun(porthole, ALICE, { auto_approve_tools: true });
    [start, stop, status, share] = toolsOf(run);
  });
  afterAll(() => porthole.end());

  test('start, look at and stop a preview', async () => {
    await serve(porthole, run.sandboxId, 3000, 'hello', ALICE);
    const started = await start.execute({ port: 3000 });
    const url = URL_OF.exec(started.text)?.[0];
    expect(started).toMatchObject({
      isError: false,
      text: `The preview of port 3000 is live at ${url}.`,
      data: { preview_url: url, target_port: 3000, ready: true },
    });
    expect((await start.execute({ port: '3000' })).text).toBe(started.text);
    expect((await status.execute({})).text).toMatch(/^Port 3000: http.*\(until 20.*Z unless it is used\)\.$/);
    expect((await status.execute({ port: 3000 })).text).toMatch(/a preview of it works\.$/);
    expect(await stop.execute({ port: 3000 })).toEqual({
      isError: false,
      text: 'The preview of port 3000 is stopped.',
    });
    expect((await stop.execute({ port: 3000 })).text).toBe('Port 3000 has no live preview: nothing to stop.');
    expect((await status.execute({})).text).toBe('No preview is live.');
  });

  test('share a live preview, and refuse one that is not live', async () => {
    expect(await share.execute({ port: 3000, label: 'carol' })).toMatchObject({
      isError: true,
      code: 'preview_not_found',
    });
    await start.execute({ port: 3000 });
    const shared = await share.execute({ port: '3000', label: 'carol', max_uses: 2 });
    const { url } = shared.data as { url: string };
    expect(shared.text).toBe(`The link to the preview of port 3000: ${url}`);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/open\?preview=preview-[0-9a-f]{20}#lnk_\w+\.\S+$/);
    expect(shared.data).toMatchObject({ label: 'carol', level: 'link', max_uses: 2, created_by: 'agent' });
    expect(await share.execute({ port: 3000 })).toMatchObject({ isError: true, code: 'invalid_request' });
    expect(await share.execute({ label: 'carol' })).toMatchObject({ isError: true, code: 'invalid_port' });
    await stop.execute({ port: 3000 });
  });

  test('say what to do when nothing listens', async () => {
    const started = await start.execute({ port: 3333 });
    expect(started.isError).toBe(false);
    expect(started.text).toMatch(
      /is live at http\S+, but does not show the app yet\. Nothing listens on port 3333, but something does on 3000: /,
    );
    await stop.execute({ port: 3333 });
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['no port', {}],
    ['text', { port: 'http' }],
    ['a fraction', { port: 3000.5 }],
    ['a port that is none', { port: 65_536 }],
  ])('refuse %s without asking Porthole', async (_name, input) => {
    const wrong = {
      text: 'port must be a whole number from 1 to 65535: the port that the server listens on.',
      isError: true,
      code: 'invalid_port',
    };
    const [start, stop] = createPreviewTools({
      runId: 'run_1',
      agentToken: 'x',
      baseUrl: 'http://127.0.0.1:1',
    });
    expect(await start.execute(input)).toEqual(wrong);
    expect(await stop.execute(input)).toEqual(wrong);
  });

  test('pass on what Porthole refuses, in its words', async () => {
    expect(await start.execute({ port: 22 })).toEqual({
      text: 'preview port must be between 3000 and 9000, got 22: start the server on a port in that range.',
      isError: true,
      code: 'port_out_of_range',
    });
  });

  test('reach no other run, whatever the model says, and are dead with their own', async () => {
    const mine = await makeRun(porthole, ALICE, { auto_approve_tools: true });
    const [start, , status] = toolsOf(mine);
    await start.execute({ port: 4000, run_id: run.runId, runId: run.runId });
    const { podName } = await porthole.host.services.sandboxes.inspect(mine.sandboxId);
    expect((await status.execute({})).data).toMatchObject([{ target_port: 4000, pod_name: podName }]);
    const [foreign] = createPreviewTools({ ...mine, runId: run.runId, baseUrl: porthole.host.url });
    expect((await foreign.execute({ port: 4000 })).code).toBe('foreign_run');
    await porthole.call('POST', `/api/runs/${mine.runId}/complete`, { token: ALICE });
    expect(await start.execute({ port: 4000 })).toEqual({
      text: 'Unauthorized. The token of this agent is not good any more, most likely because its run has ended. Stop using these tools.',
      isError: true,
      code: 'unauthorized',
    });
  });
}
