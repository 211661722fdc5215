import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ADA_ADMIN, ALICE, PEOPLE } from './support/people.ts';

describe('what an installation says of itself', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({
      ...PEOPLE,
      PORTHOLE_DOCS_URL: 'https://docs.example.com/porthole',
      SANDBOX_IDLE_TIMEOUT_MINUTES: '20',
      WARM_POOL_MAX_INSTANCES: '7',
    });
  });
  afterAll(() => porthole.end());

  test('has version, provider and limits, with links as configured', async () => {
    expect((await porthole.call('GET', '/api/installation', { token: ALICE })).json()).toEqual({
      version: '0.2.0',
      provider: 'local',
      sandboxes: null,
      warnings: expect.any(Array),
      limits: { idle_minutes: 20, retention_hours: 72, running_sandboxes: 7, file_mib: 32 },
      previews: {
        port_min: 3000,
        port_max: 9000,
        idle_minutes: 30,
        lifetime_hours: 8,
        per_run: 3,
        total: 20,
      },
      sign_in: 'keys',
      docs_url: 'https://docs.example.com/porthole',
      feedback_url: null,
    });
  });

  test('says how sandboxes are isolated to admins only', async () => {
    const answer = await porthole.call('GET', '/api/installation', { token: ADA_ADMIN });
    expect(answer.json()).toMatchObject({ sandboxes: expect.stringMatching(/^local, /) });
  });

  test('tells admins what it needs, also by the health check', async () => {
    const answer = await porthole.call('GET', '/api/installation/checks', { token: ADA_ADMIN });
    const { ok, checks } = answer.json<{ ok: boolean; checks: { name: string; state: string }[] }>();
    expect(ok).toBe(true);
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'database',
        'clock',
        'versions',
        'sandboxes',
        'isolation',
        'capacity',
        'audit',
        'disk',
      ]),
    );
    const verbose = (token?: string) =>
      porthole.call('GET', '/health?verbose', token === undefined ? {} : { token });
    expect((await verbose(ADA_ADMIN)).json()).toMatchObject({ ok: true, checks: expect.any(Array) });
    expect([(await verbose(ALICE)).status, (await verbose()).status]).toEqual([403, 401]);
    expect((await porthole.call('GET', '/health')).status).toBe(200);
  });

  test('has the warnings of the health check', async () => {
    const health = await porthole.call('GET', '/health');
    const { warnings } = (await porthole.call('GET', '/api/installation', { token: ALICE })).json();
    expect(warnings).toEqual(health.json()['warnings'] ?? []);
  });
});

test('has no sign-in and no previews where neither is configured', async () => {
  const porthole = await startTestHost({ Sandbox__Preview__Enabled: 'false' });
  try {
    expect((await porthole.call('GET', '/api/installation')).json()).toMatchObject({
      sign_in: 'none',
      previews: null,
    });
  } finally {
    await porthole.end();
  }
});
