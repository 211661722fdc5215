import { destroySandbox } from '#core/sandboxes/end-sandbox.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { reap } from '#handlers/ops/scheduled.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { serve } from './support/commands.ts';
import { type PinnedClock, pinnedClock } from './support/pinned-clock.ts';
import { makeRun, startPreview, outcome, visit } from './support/runs.ts';

describe('the life of a preview', () => {
  let clock: PinnedClock;
  let porthole: TestHost;
  beforeAll(async () => {
    clock = pinnedClock();
    porthole = await startTestHost({}, { clock });
  });
  beforeEach(async () => {
    const { plane } = porthole.host.services;
    for await (const preview of plane.list()) await plane.close(preview);
  });
  afterAll(() => porthole.end());

  const pass = () => reap(porthole.host.services);
  const look = (session: string, path = '/') => visit(porthole, session, porthole.host.port, path);

  test('is left alone by the reaper until its idle window is over', async () => {
    const { session_id } = await startPreview(porthole, (await makeRun(porthole)).runId, 3000);
    clock.advance({ minutes: 29, seconds: 59 });
    expect(await pass()).toMatchObject({ seen: 1, reaped: 0 });
    expect(outcome(await look(session_id))).toEqual([502, 'nothing_listens']);
  });

  test('idle for 30 minutes, it ends, and its URL says expired', async () => {
    const { runId } = await makeRun(porthole);
    const { session_id } = await startPreview(porthole, runId, 3000);
    clock.advance({ minutes: 30 });
    expect(await pass()).toMatchObject({ seen: 1, reaped: 1 });
    expect(outcome(await look(session_id))).toEqual([410, 'expired']);
    const page = await porthole.call('GET', '/', {
      host: `${session_id}-preview.localhost`,
      headers: { accept: 'text/html' },
    });
    expect(page.status).toBe(410);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.text).toContain('expired');
    expect((await porthole.call('GET', `/api/runs/${runId}/sandbox/port-forward`)).json()).toEqual([]);
  });

  test('started again after it expired, it has the same URL', async () => {
    const { runId } = await makeRun(porthole);
    const first = await startPreview(porthole, runId, 3000);
    clock.advance({ minutes: 31 });
    await pass();
    const second = await startPreview(porthole, runId, 3000);
    expect(second.session_id).toBe(first.session_id);
    expect(outcome(await look(second.session_id))).toEqual([502, 'nothing_listens']);
  });

  test('ends at its maximum lifetime when it is kept alive every 20 minutes', async () => {
    const { runId } = await makeRun(porthole);
    const { session_id, keepalive_url } = await startPreview(porthole, runId, 3000);
    for (let minutes = 20; minutes < 480; minutes += 20) {
      clock.advance({ minutes: 20 });
      expect((await porthole.call('POST', keepalive_url ?? '')).status).toBe(200);
      await pass();
    }
    expect(outcome(await look(session_id))).toEqual([502, 'nothing_listens']);
    clock.advance({ minutes: 20 });
    await porthole.call('POST', keepalive_url ?? '');
    expect(await pass()).toMatchObject({ reaped: 1 });
    expect(outcome(await look(session_id))).toEqual([410, 'expired']);
  });

  test('is kept alive by traffic', async () => {
    const { runId, sandboxId } = await makeRun(porthole);
    await serve(porthole, sandboxId, 3457, 'still here');
    const { session_id } = await startPreview(porthole, runId, 3457);
    clock.advance({ minutes: 25 });
    expect((await look(session_id)).text).toBe('still here');
    clock.advance({ minutes: 25 });
    expect(await pass()).toMatchObject({ reaped: 0 });
    const [listed] = (await porthole.call('GET', `/api/runs/${runId}/sandbox/port-forward`)).json<
      { expires_at: string }[]
    >();
    expect(Date.parse(listed?.expires_at ?? '') - clock.now().getTime()).toBe(5 * 60_000);
  });

  test('is not kept alive by a page that says nothing listens', async () => {
    const { session_id } = await startPreview(porthole, (await makeRun(porthole)).runId, 3000);
    clock.advance({ minutes: 25 });
    expect(outcome(await look(session_id))).toEqual([502, 'nothing_listens']);
    clock.advance({ minutes: 5 });
    expect(await pass()).toMatchObject({ reaped: 1 });
  });

  test('loses its URL at once when its sandbox is deleted', async () => {
    const { runId, sandboxId } = await makeRun(porthole);
    const { session_id } = await startPreview(porthole, runId, 3000);
    await porthole.call('DELETE', `/v1/sandbox/${sandboxId}`);
    expect(outcome(await look(session_id))).toEqual([410, 'stopped']);
    expect(await pass()).toMatchObject({ reaped: 0 });
  });

  test('becomes an orphan and loses its URL when code that knows nothing of previews destroys its sandbox', async () => {
    const { runId, sandboxId } = await makeRun(porthole);
    const { session_id } = await startPreview(porthole, runId, 3000);
    await destroySandbox(porthole.host.services, { id: sandboxId, generation: 1 });
    expect(await pass()).toMatchObject({ reaped: 1 });
    expect(outcome(await look(session_id))).toEqual([410, 'orphaned']);
    expect(porthole.logged.join('')).toContain('"decision":"orphaned"');
  });

  test('stays when its sandbox is stopped, and says so on its page', async () => {
    const { runId, sandboxId } = await makeRun(porthole);
    const { session_id } = await startPreview(porthole, runId, 3000);
    await porthole.host.services.sandboxes.stop(sandboxId);
    expect(await pass()).toMatchObject({ reaped: 0 });
    expect(outcome(await look(session_id))).toEqual([503, 'sandbox_stopped']);
    const again = await porthole.call('POST', `/api/runs/${runId}/sandbox/port-forward`, {
      body: { target_port: 3000 },
    });
    expect(outcome(again)).toEqual([409, 'no_bound_sandbox']);
  });

  test('answers 410 at its URL for 24 hours, and 404 after that', async () => {
    const { runId } = await makeRun(porthole);
    const { session_id } = await startPreview(porthole, runId, 3000);
    await porthole.call('DELETE', `/api/runs/${runId}/sandbox/port-forward/${session_id}`);
    clock.advance({ hours: 23, minutes: 59 });
    await pass();
    expect(outcome(await look(session_id))).toEqual([410, 'stopped']);
    clock.advance({ minutes: 2 });
    await pass();
    expect(outcome(await look(session_id))).toEqual([404, 'unknown']);
  });

  test('keeps a stopped URL revoked after its tombstone is forgotten', async () => {
    const { runId } = await makeRun(porthole);
    const first = await startPreview(porthole, runId, 3000);
    await porthole.call('DELETE', `/api/runs/${runId}/sandbox/port-forward/${first.session_id}`);
    clock.advance({ hours: 25 });
    await pass();
    expect((await startPreview(porthole, runId, 3000)).session_id).not.toBe(first.session_id);
  });
});

describe('with KeepAfterRun=false', () => {
  const clock = pinnedClock();
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({ Sandbox__Preview__KeepAfterRun: 'false' }, { clock });
  });
  afterAll(() => porthole.end());

  test('ends a preview with its run, leaves others alive, and starts no more in a completed run', async () => {
    const [ended, running] = [await makeRun(porthole), await makeRun(porthole)];
    const first = await startPreview(porthole, ended.runId, 3000);
    const second = await startPreview(porthole, running.runId, 3000);
    await porthole.call('POST', `/api/runs/${ended.runId}/complete`);
    expect(await reap(porthole.host.services)).toMatchObject({ seen: 2, reaped: 1 });
    expect(outcome(await visit(porthole, first.session_id, porthole.host.port))).toEqual([410, 'orphaned']);
    expect(outcome(await visit(porthole, second.session_id, porthole.host.port))).toEqual([
      502,
      'nothing_listens',
    ]);
    const again = await porthole.call('POST', `/api/runs/${ended.runId}/sandbox/port-forward`, {
      body: { target_port: 3000 },
    });
    expect(outcome(again)).toEqual([409, 'run_ended']);
  });
});
