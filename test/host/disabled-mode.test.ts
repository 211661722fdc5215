import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { PREVIEW_TOKEN_PATTERN } from '#protocol/preview-words.ts';
import { reap } from '#handlers/ops/scheduled.ts';
import { call, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { approvalsAsked, askForPreview, decide } from './support/approvals.ts';
import { serve } from './support/commands.ts';
import { type MadeRun, makeRun, startPreview, outcome } from './support/runs.ts';

describe('with Sandbox__Preview__Enabled=false', () => {
  let porthole: TestHost;
  let run: MadeRun;
  beforeAll(async () => {
    porthole = await startTestHost({ Sandbox__Preview__Enabled: 'false', Sandbox__Preview__MaxTotal: '4' });
    run = await makeRun(porthole);
  });
  afterEach(async () => {
    const { plane } = porthole.host.services;
    for await (const session of plane.list()) await plane.close(session);
  });
  afterAll(() => porthole.end());

  const start = (port: number, runId = run.runId) =>
    porthole.call('POST', `/api/runs/${runId}/sandbox/port-forward`, { body: { target_port: port } });
  const reached = (localPort: number) =>
    call(localPort, 'GET', '/').then(
      ({ text }) => text,
      (error: NodeJS.ErrnoException) => error.code,
    );

  test('gives a session a loopback port and no URL, and carries bytes to the app', async () => {
    await serve(porthole, run.sandboxId, 3465, 'by a tunnel');
    const answer = await start(3465);
    const body = answer.json<{ local_port: number; session_id: string }>();
    expect(answer.status).toBe(200);
    expect(body).toEqual({
      session_id: expect.stringMatching(new RegExp(`^${PREVIEW_TOKEN_PATTERN}$`)),
      local_port: expect.any(Number),
      target_port: 3465,
      pod_name: run.sandboxId,
      started_at: expect.any(String),
      preview_url: null,
      previewUrl: null,
      keepalive_url: null,
      keepaliveUrl: null,
      expires_at: null,
      max_until: null,
      ready: true,
    });
    expect(body.local_port).toBeGreaterThan(1023);
    expect(await reached(body.local_port)).toBe('by a tunnel');
  });

  test('says that nothing listens yet, and resets connections until something does', async () => {
    const session = await startPreview(porthole, run.runId, 3466);
    expect(session).toMatchObject({ ready: false, reason: 'nothing_listens' });
    expect(await reached(session.local_port)).toBe('ECONNRESET');
    await serve(porthole, run.sandboxId, 3466, 'now it does');
    expect(await reached(session.local_port)).toBe('now it does');
  });

  test('returns the same session on a second start', async () => {
    const [first, second] = [
      await startPreview(porthole, run.runId, 3000),
      await startPreview(porthole, run.runId, 3000),
    ];
    expect([second.session_id, second.local_port]).toEqual([first.session_id, first.local_port]);
  });

  test('answers 429 to the fourth session of a run, and to the fifth of all', async () => {
    for (const port of [3000, 3001, 3002]) await startPreview(porthole, run.runId, port);
    expect(outcome(await start(3003))).toEqual([429, 'too_many_previews']);
    const other = await makeRun(porthole);
    await startPreview(porthole, other.runId, 3000);
    const fifth = await start(3001, other.runId);
    expect(outcome(fifth)).toEqual([429, 'too_many_previews']);
    expect(fifth.json<{ error: string }>().error).toBe('All 4 sessions are in use: stop one first.');
  });

  test('leaves no listener after a refused session', async () => {
    for (const port of [3000, 3001, 3002]) await startPreview(porthole, run.runId, port);
    const listeners = () =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap').length;
    const before = listeners();
    await start(3003);
    expect(listeners()).toBe(before);
  });

  test('keepalive is 409: there is nothing to keep alive', async () => {
    const { session_id } = await startPreview(porthole, run.runId, 3000);
    const answer = await porthole.call(
      'POST',
      `/api/runs/${run.runId}/sandbox/preview/${session_id}/keepalive`,
    );
    expect(outcome(answer)).toEqual([409, 'preview_not_enabled']);
  });

  test('list shows the sessions, stop ends one and closes its port, a second stop is 404', async () => {
    const session = await startPreview(porthole, run.runId, 3000);
    const path = `/api/runs/${run.runId}/sandbox/port-forward`;
    expect((await porthole.call('GET', path)).json<unknown[]>()).toMatchObject([
      { session_id: session.session_id, local_port: session.local_port, target_port: 3000 },
    ]);
    const stopped = await porthole.call('DELETE', `${path}/${session.session_id}`);
    expect([stopped.status, stopped.json()]).toEqual([
      200,
      { session_id: session.session_id, stopped: true },
    ]);
    expect((await porthole.call('GET', path)).json()).toEqual([]);
    expect(await reached(session.local_port)).toBe('ECONNREFUSED');
    expect(outcome(await porthole.call('DELETE', `${path}/${session.session_id}`))).toEqual([
      404,
      'preview_not_found',
    ]);
  });

  test('asks for approval on the agent’s route, too', async () => {
    const asking = askForPreview(porthole, run.runId, run.agentToken, { target_port: 3007 });
    const [request] = await approvalsAsked(porthole, run.runId);
    await decide(porthole, run.runId, {
      request_id: request?.data['request_id'],
      decision: 'approve',
      scope: 'once',
    });
    const answer = await asking;
    expect(answer.status).toBe(200);
    expect(await reached(Number(answer.json()['local_port']))).toBe('ECONNRESET');
  });

  test('ends a session with its sandbox, and frees its place', async () => {
    const doomed = await makeRun(porthole);
    const session = await startPreview(porthole, doomed.runId, 3000);
    const stays = await startPreview(porthole, run.runId, 3000);
    await porthole.call('DELETE', `/v1/sandbox/${doomed.sandboxId}`);
    expect(await reap(porthole.host.services)).toMatchObject({ reaped: 0 });
    expect(await reached(session.local_port)).toBe('ECONNREFUSED');
    expect(await reached(stays.local_port)).toBe('ECONNRESET');
  });

  test('preview hosts are unknown hosts', async () => {
    const { session_id } = await startPreview(porthole, run.runId, 3000);
    const answer = await porthole.call('GET', '/', { host: `${session_id}-preview.localhost` });
    expect(outcome(answer)).toEqual([403, 'unknown_host']);
  });
});

test('sessions die with the host', async () => {
  const porthole = await startTestHost({ Sandbox__Preview__Enabled: 'false' });
  const { runId } = await makeRun(porthole);
  const { local_port } = await startPreview(porthole, runId, 3000);
  await porthole.end();
  await expect(call(local_port, 'GET', '/')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
