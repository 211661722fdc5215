import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { collect } from '#test/support/collect.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { Porthole } from '../../client/node/index.ts';

const KEYS = {
  'key-of-the-admin-0123': { user: 'root', org: 'acme', admin: true },
  'key-of-alice-01234567': { user: 'alice', org: 'acme' },
  'key-of-bob-0123456789': { user: 'bob', org: 'beta' },
  'key-of-carol-01234567': { user: 'carol', org: 'beta' },
};
const [ADMIN, ALICE, BOB, CAROL] = Object.keys(KEYS) as [string, string, string, string];
const BUDGETS = {
  default: { vcpu_s: 1_000_000 },
  users: { alice: { vcpu_s: 0.3 }, carol: { vcpu_s: null } },
  orgs: { beta: { vcpu_s: 0.3, at_limit: 'stop' } },
};
const BUSY = 'i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done';

let host: TestHost;
beforeAll(async () => {
  host = await startTestHost({
    PORTHOLE_API_KEYS: JSON.stringify(KEYS),
    PORTHOLE_BUDGETS: JSON.stringify(BUDGETS),
  });
});
afterAll(() => host.end());

const as = (apiKey: string) => new Porthole({ url: host.host.url, apiKey });
const eventsOf = async (type: 'budget.warned' | 'budget.spent') =>
  (await collect(as(ADMIN).audit.events({ type }))).map(({ subject }) => subject);

describe('a budget', () => {
  test('that warns is in the audit once, and stops nothing', async () => {
    const { sandbox } = await as(ALICE).run();
    await sandbox.exec(BUSY).collect();
    await host.host.lifecycle();
    await host.host.lifecycle();
    const month = new Date().toISOString().slice(0, 7);
    expect(await eventsOf('budget.spent')).toEqual([`budget/user/acme/alice/${month}`]);
    expect((await sandbox.exec(['echo', 'on']).collect()).stdout).toBe('on\n');
  });

  test('that stops ends the sandboxes of its organisation, and lets none start', async () => {
    const [bob, carol] = [await as(BOB).run(), await as(CAROL).run()];
    await bob.sandbox.exec(BUSY).collect();
    await host.host.lifecycle();
    for (const { sandbox } of [bob, carol]) expect((await sandbox.refresh()).state).toBe('stopped');
    expect(await eventsOf('budget.spent')).toHaveLength(2);
    for (const key of [BOB, CAROL]) {
      const refused = await host.call('POST', '/api/runs', { token: key, body: {} });
      expect(refused.status).toBe(429);
      expect(refused.json()).toMatchObject({
        code: 'quota_exceeded',
        error: expect.stringMatching(
          /^Your organisation beta has used \d+ of 0\.3 vCPU seconds of the budget for \d{4}-\d\d/,
        ),
      });
    }
    const woken = await host.call('POST', `/v1/sandbox/${bob.sandbox.id}/resume`, { token: BOB, body: {} });
    expect([woken.status, woken.json()['code']]).toEqual([429, 'quota_exceeded']);
    const stopped = await collect(as(ADMIN).audit.events({ subject: `sandbox/${carol.sandbox.id}` }));
    expect(stopped.at(-1)).toMatchObject({ type: 'sandbox.stopped', reason: 'budget' });
    expect((await host.call('POST', '/api/runs', { token: ALICE, body: {} })).status).toBe(201);
  });
});
