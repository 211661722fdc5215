import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { collect } from '#test/support/collect.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { verifyAudit } from '../../client/node/verify-audit.ts';
import { Porthole } from '../../client/node/index.ts';
import type { AuditEvent } from '../../client/resources/audit.ts';

const KEYS = {
  'key-of-the-admin-0123': { user: 'root', org: 'acme', admin: true },
  'key-of-alice-01234567': { user: 'alice', org: 'acme' },
};
const [ADMIN, ALICE] = Object.keys(KEYS) as [string, string];

let host: TestHost;
beforeAll(async () => {
  host = await startTestHost({ PORTHOLE_API_KEYS: JSON.stringify(KEYS) });
});
afterAll(() => host.end());

const admin = () => new Porthole({ url: host.host.url, apiKey: ADMIN });
const eventsOf = (filter: Parameters<Porthole['audit']['events']>[0] = {}) =>
  collect(admin().audit.events(filter));

describe('the audit of a host', () => {
  test('has what a person and an agent did, each by the credential', async () => {
    const alice = new Porthole({ url: host.host.url, apiKey: ALICE });
    const run = await alice.run({ title: 'Checkout' });
    const { sandbox_id: id } = run.info;
    const made = await host.call('POST', '/api/keys', {
      token: ALICE,
      body: { name: 'CI', scope: 'full' },
    });
    const { key, key_id: keyId } = made.json<{ key: string; key_id: string }>();
    await host.call('POST', `/v1/sandbox/${id}/stop`, { token: key, body: {} });
    await host.call('DELETE', `/v1/sandbox/${id}`, { token: ALICE });
    const events = await eventsOf({ subject: `sandbox/${id}` });
    expect(events.map(({ type, actor }) => [type, actor?.id, actor?.credential])).toEqual([
      ['sandbox.created', 'alice', 'token'],
      ['sandbox.stopped', 'alice', `key:${keyId}`],
      ['sandbox.destroyed', 'alice', 'token'],
    ]);
    expect((await eventsOf({ user: 'alice' })).map(({ type }) => type)).toContain('key.created');
    expect(JSON.stringify(await eventsOf())).not.toContain(key);
  });

  test('has refused requests, equal ones of a minute once and with their number', async () => {
    for (let n = 0; n < 5; n += 1) await host.call('GET', '/api/runs', { token: 'wrong-key' });
    await host.call('GET', '/v1/audit', { token: ALICE });
    const denied = (await eventsOf({ type: 'request.denied' })).map(
      ({ subject, result, actor, source_ip, data }) => ({
        subject,
        result,
        kind: actor?.kind,
        source_ip,
        data,
      }),
    );
    expect(denied).toEqual([
      about('listRuns', 'visitor', { code: 'unauthorized' }),
      about('listAuditEvents', 'person', { code: 'forbidden' }),
      about('listRuns', 'visitor', { code: 'unauthorized', repeated: 4 }),
    ]);
    expect(JSON.stringify(await eventsOf())).not.toContain('wrong-key');
  });

  test('gives its rows as OCSF events, in pages', async () => {
    const rows = await eventsOf();
    const exported = await collect(admin().auditAsOcsf());
    expect(exported.map(({ metadata }) => [metadata.sequence, metadata.uid])).toEqual(
      rows.map(({ seq, id }) => [seq, id]),
    );
    const [first, second] = rows;
    const page = await host.call('GET', `/v1/audit?format=ocsf&limit=1&after=${first?.seq}`, {
      token: ADMIN,
    });
    expect(page.headers['content-type']).toBe('application/x-ndjson');
    expect(JSON.parse(page.text)).toMatchObject({ class_uid: 6003, unmapped: { hash: second?.hash } });
    expect((await host.call('GET', '/v1/audit?format=csv', { token: ADMIN })).status).toBe(400);
  });

  test('verifies, also where a user was redacted, and only admins may read or redact it', async () => {
    const porthole = admin();
    const { rows, heads } = await verifyAudit(await eventsOf(), await porthole.audit.heads());
    expect([rows > 0, heads > 0]).toEqual([true, true]);
    expect(await porthole.audit.redact('alice')).toBeGreaterThan(0);
    const left = await eventsOf();
    expect(JSON.stringify(left.filter(({ type }) => type !== 'request.denied'))).not.toContain('alice');
    expect((await verifyAudit(left, await porthole.audit.heads())).redacted).toBeGreaterThan(0);
    for (const [method, path, body] of [
      ['GET', '/v1/audit', undefined],
      ['GET', '/v1/audit/heads', undefined],
      ['POST', '/v1/audit/redact', { user: 'root' }],
    ] as const) {
      expect((await host.call(method, path, { token: ALICE, body })).status).toBe(403);
    }
  });

  test.each([
    ['/v1/audit?limit=0'],
    ['/v1/audit?limit=1001'],
    ['/v1/audit?after=-1'],
    ['/v1/audit?type=sandbox.exploded'],
    ['/v1/audit?from=yesterday'],
    ['/v1/audit/heads?from=x'],
  ])('refuses %s', async (path) => {
    expect((await host.call('GET', path, { token: ADMIN })).status).toBe(400);
  });
});

function about(operation: string, kind: string, data: AuditEvent['data']) {
  const source_ip = expect.stringMatching(/127\.0\.0\.1$/);
  return { subject: `operation/${operation}`, result: 'denied', kind, source_ip, data };
}
