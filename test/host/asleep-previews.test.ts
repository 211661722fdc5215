/** What stays of a preview that ended because no one used it, while its sandbox exists. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { findAsleep } from '#core/previews/asleep-previews.ts';
import { previewName } from '#core/previews/preview-token.ts';
import { reap } from '#handlers/ops/scheduled.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';
import { type PinnedClock, pinnedClock } from './support/pinned-clock.ts';
import { type MadeRun, makeRun, outcome, startPreview, visit } from './support/runs.ts';

let clock: PinnedClock;
let porthole: TestHost;
let run: MadeRun;
let token: string;
beforeAll(async () => {
  clock = pinnedClock();
  porthole = await startTestHost(PEOPLE, { clock });
});
afterAll(() => porthole.end());
beforeEach(async () => {
  run = await makeRun(porthole, ALICE);
  token = (await startPreview(porthole, run.runId, 3000, ALICE)).session_id;
  clock.advance({ minutes: 31 });
  await reap(porthole.host.services);
});

const api = (method: string, path: string, body?: unknown, key = ALICE) =>
  porthole.call(method, `/v1/previews/${token}${path}`, { token: key, body });
const found = () => findAsleep(porthole.host.services, { token });

test('keeps host, run and port, also for longer than ended previews are remembered', async () => {
  const known = {
    name: previewName(token),
    token,
    runId: run.runId,
    sandboxId: run.sandboxId,
    targetPort: 3000,
  };
  expect(await found()).toEqual(known);
  clock.advance({ hours: 72 });
  await reap(porthole.host.services);
  expect(await findAsleep(porthole.host.services, { name: known.name })).toEqual(known);
});

test('keeps its level and its links, which its owner changes', async () => {
  expect((await api('PUT', '/access', { level: 'org' })).json()).toMatchObject({ level: 'org' });
  const link = (await api('POST', '/links', { label: 'for carol', may_wake: true })).json();
  expect((await api('GET', '/links')).json()).toMatchObject({ links: [{ id: link['id'], may_wake: true }] });
  expect((await api('GET', '/access', undefined, BOB)).status).toBe(404);
  expect((await api('POST', '/pass')).status).toBe(404);
  expect((await api('DELETE', `/links/${String(link['id'])}`)).status).toBe(204);
  expect((await api('GET', '/links')).json()).toEqual({ links: [] });
  const again = await startPreview(porthole, run.runId, 3000, ALICE);
  expect(again.session_id).toBe(token);
  expect((await api('GET', '/access')).json()).toMatchObject({ level: 'org' });
});

test('is gone once its owner stops it', async () => {
  const path = `/api/runs/${run.runId}/sandbox/port-forward/${token}`;
  expect((await porthole.call('DELETE', path, { token: ALICE })).status).toBe(200);
  expect(await found()).toBeUndefined();
  expect(outcome(await visit(porthole, token, porthole.host.port))).toEqual([410, 'stopped']);
});

test('is gone with its sandbox, also where the id of that is used again', async () => {
  const path = `/v1/sandbox/${run.sandboxId}`;
  await porthole.call('DELETE', path, { token: ALICE });
  expect(await found()).toBeUndefined();
  clock.advance({ minutes: 1 });
  const used = await porthole.call('PUT', `${path}/file/workspace/a`, { token: ALICE, body: 'a' });
  expect(used.status).toBeLessThan(300);
  expect(await found()).toBeUndefined();
});
