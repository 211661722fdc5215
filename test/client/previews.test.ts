import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { serve } from '#test/host/support/commands.ts';
import { call, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { Porthole } from '../../client/index.ts';
import type { Sandbox } from '../../client/resources/sandbox.ts';

describe('the client, of previews', () => {
  let host: TestHost;
  let porthole: Porthole;
  let sandbox: Sandbox;
  /** Called for the next request with a path that ends so. */
  let onCall: (path: string) => void = () => undefined;
  const nextCall = (ending: string) =>
    new Promise<void>((resolve) => (onCall = (path) => (path.endsWith(ending) ? resolve() : undefined)));

  beforeAll(async () => {
    host = await startTestHost(PEOPLE);
    const fetch: typeof globalThis.fetch = (input, init) => {
      onCall(new URL(input instanceof Request ? input.url : input).pathname);
      return globalThis.fetch(input, init);
    };
    porthole = new Porthole({ url: `http://127.0.0.1:${host.host.port}`, apiKey: ALICE, fetch });
    sandbox = await porthole.sandboxes.create();
    await serve(host, sandbox.id, 3000, 'hello', ALICE);
  });
  afterAll(() => host.end());

  test('opens one, which shows the app, and stops it', async () => {
    const preview = await sandbox.preview(3000);
    expect(preview).toMatchObject({ port: 3000, ready: true });
    const { port, host: name } = new URL(preview.url);
    const seen = () => call(Number(port), 'GET', '/', { host: name });
    expect(await seen()).toMatchObject({ status: 200, text: 'hello' });
    await preview.stop();
    expect(await seen()).toMatchObject({ status: 410 });
    expect(await preview.over).toBeUndefined();
  });

  test('keeps it alive until the server says that it is gone', async () => {
    const run = await porthole.runs.create({ sandboxId: sandbox.id, title: 'kept' });
    const preview = await run.preview(3000, { keepAliveMs: 20 });
    await nextCall('/keepalive');
    await nextCall('/keepalive');
    const [listed] = await run.previews();
    expect(listed?.info.session_id).toBe(preview.info.session_id);
    await listed?.stop();
    expect(await preview.over).toMatchObject({ code: 'preview_not_found', status: 404 });
    expect(await run.previews()).toEqual([]);
    await run.complete();
    expect((await porthole.runs.get(run.id)).info.status).toBe('completed');
  });

  test('says why one does not show the app', async () => {
    const run = await porthole.runs.create({ sandboxId: sandbox.id });
    expect(await run.preview(3001)).toMatchObject({ ready: false });
    expect((await run.doctor(3001)).advice).toMatch('Nothing listens on port 3001');
    await expect(run.preview(80)).rejects.toMatchObject({ code: 'port_out_of_range', status: 400 });
  });

  test('approves, and denies, what an agent asks for', async () => {
    const run = await porthole.runs.create({ sandboxId: sandbox.id });
    const asAgent = () =>
      host.call('POST', `/api/runs/${run.id}/sandbox/preview`, {
        token: run.agentToken ?? '',
        body: { target_port: 3000 },
      });
    const first = asAgent();
    let second: ReturnType<typeof asAgent> | undefined;
    for await (const { type, data } of run.events()) {
      if (type !== 'tool.approval_required') continue;
      const { request_id: request } = data as { readonly request_id: string };
      if (second === undefined) {
        await run.deny(request, 'not now');
        expect(await first).toMatchObject({ status: 403 });
        expect((await first).text).toMatch('not now');
        second = asAgent();
      } else {
        await run.approve(request, { scope: 'run' });
        break;
      }
    }
    expect(await second).toMatchObject({ status: 200 });
    for await (const policy of porthole.policies.list()) await porthole.policies.delete(policy.policy_id);
  });

  test('shows no token where one is logged by accident', async () => {
    const preview = await sandbox.preview(3000);
    expect(JSON.stringify({ preview, sandbox, porthole })).not.toContain(preview.info.session_id);
    expect(JSON.stringify({ preview, sandbox, porthole })).not.toContain(ALICE);
    await preview.stop();
  });
});
