/** A clock that was a day ahead and is mended: what was planned meanwhile does not wait. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import type { WakingClock } from '#base/clock-and-ids.ts';
import { collect } from '#test/support/collect.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts';
import { Porthole } from '../../client/node/index.ts';
import { verifyAudit } from '../../client/node/verify-audit.ts';
import { execute } from './support/commands.ts';

let host: TestHost;
/** Milliseconds that the host's clock is ahead of the database's. */
let ahead = 24 * 3_600_000;
const clock: WakingClock = {
  now: () => new Date(Date.now() + ahead),
  until: (at, signal) => systemClock.until(new Date(at.getTime() - ahead), signal),
};
let receiver: WebhookReceiver;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  host = await startTestHost({ PORTHOLE_WEBHOOK_ALLOW: '127.0.0.1/32' }, { clock });
});
afterAll(async () => {
  await host?.end();
  await receiver?.close();
});

const make = async (): Promise<string> =>
  (await host.call('POST', '/v1/sandbox', { body: {} })).json<{ id: string }>().id;
const busy = (id: string) =>
  execute(host, id, ['sh', '-c', 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done']);
const used = async (id: string): Promise<number> => {
  const answer = await host.call('GET', `/v1/usage?by=sandbox&sandbox=${id}`);
  return answer.json<{ usage: { vcpu_s: number }[] }>().usage[0]?.vcpu_s ?? 0;
};
/** The messages about the sandbox, once there are that many. */
const delivered = (id: string, count = 1) =>
  receiver.until(count, ({ event }) => event.subject === `sandbox/${id}`);
const clockCheck = async () => {
  const answer = await host.call('GET', '/api/installation/checks');
  return answer
    .json<{ checks: { name: string; state: string }[] }>()
    .checks.find(({ name }) => name === 'clock');
};

test('delays no webhook, no head of the audit and no usage, and the doctor says it', async () => {
  const hook = { url: receiver.url, events: ['sandbox.created'], scope: 'installation' };
  await host.call('POST', '/v1/webhooks', { body: hook });
  // The receiver is away, so that a delivery waits for its next attempt.
  receiver.answer((response) => response.writeHead(500).end());
  const id = await make();
  await delivered(id);
  await busy(id);
  await host.host.lifecycle();
  expect(await used(id)).toBeGreaterThan(0);
  const { audit } = new Porthole({ url: host.host.url });
  const { length: heads } = (await audit.heads()).heads;
  receiver.answer((response) => response.writeHead(204).end());

  ahead = 0;
  expect(await clockCheck()).toMatchObject({ state: 'warning' });
  // What was used so far counts for tomorrow.
  expect(await used(id)).toBe(0);
  const second = await make();
  await busy(id);
  await host.host.lifecycle();
  expect(await used(id)).toBeGreaterThan(0);
  // The first, again.
  await delivered(id, 2);
  await delivered(second);
  const after = await audit.heads();
  expect(after.heads.length).toBeGreaterThan(heads);
  await verifyAudit(await collect(audit.events()), after);
  expect(await clockCheck()).toMatchObject({ state: 'ok' });
});
