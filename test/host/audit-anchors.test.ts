import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { collect } from '#test/support/collect.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type S3Server, s3Missing, startS3 } from '#test/support/seaweedfs.ts';
import { suite } from '#test/support/suite.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts';
import { Porthole } from '../../client/node/index.ts';
import { verifyAudit } from '../../client/node/verify-audit.ts';
import type { AuditHeads } from '../../client/resources/audit.ts';
import { type PinnedClock, pinnedClock } from './support/pinned-clock.ts';

const environment = ({ endpoint, accessKeyId, secretAccessKey }: S3Server) => ({
  // Rows have the time of the machine, and the clock of the test is years ahead.
  PORTHOLE_AUDIT_RETENTION_DAYS: '3650',
  PORTHOLE_ARCHIVE_BUCKET: 'kept',
  PORTHOLE_ARCHIVE_ENDPOINT: endpoint,
  PORTHOLE_ARCHIVE_ACCESS_KEY_ID: accessKeyId,
  PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: secretAccessKey,
});

suite('signed heads in a bucket with object lock', s3Missing, () => {
  let server: S3Server;
  let host: TestHost;
  let clock: PinnedClock;
  let receiver: WebhookReceiver;
  beforeAll(async () => {
    server = await startS3();
    receiver = await startWebhookReceiver();
    await server.request('PUT', '/kept', '', { 'x-amz-bucket-object-lock-enabled': 'true' });
    clock = pinnedClock();
    host = await startTestHost(environment(server), { clock });
  }, 60_000);
  afterAll(async () => {
    await host?.end();
    await receiver?.close();
    await server?.stop();
  }, 60_000);

  const audit = () => new Porthole({ url: host.host.url }).audit;
  const objects = async () => {
    const listed = await (await server.request('GET', '/kept?list-type=2&prefix=audit-heads')).text();
    return [...listed.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key]) => `/kept/${key}`);
  };

  test('verify the audit, and cannot be deleted', async () => {
    await host.call('POST', '/v1/sandbox', { body: {} });
    await host.host.lifecycle();
    const [path = ''] = await objects();
    expect(path).toMatch(/^\/kept\/audit-heads\/[0-9a-f]{16}\/0000000001\.json$/);
    const heads = JSON.parse((await server.read(path)) ?? '') as AuditHeads;
    const rows = await collect(audit().events());
    expect((await verifyAudit(rows, heads)).heads).toBe(1);
    const [row, ...rest] = rows;
    const changed = [{ ...row, subject: 'sandbox/another' } as typeof row, ...rest];
    await expect(verifyAudit(changed as typeof rows, heads)).rejects.toThrow('was changed');
    const stored = await server.request('HEAD', path);
    const until = Date.parse(stored.headers.get('x-amz-object-lock-retain-until-date') ?? '');
    expect(until - Date.parse(heads.heads[0]?.time ?? '')).toBe(3_650 * 86_400_000);
    const version = stored.headers.get('x-amz-version-id');
    expect((await server.request('DELETE', `${path}?versionId=${version}`)).status).toBe(403);
  });

  test('are an event for webhooks that name it, and an idle audit gets no more', async () => {
    const hook = { url: receiver.url, events: ['audit.head'], scope: 'installation' };
    expect((await host.call('POST', '/v1/webhooks', { body: hook })).status).toBe(201);
    for (let pass = 0; pass < 4; pass += 1) {
      clock.advance({ minutes: 6 });
      await host.host.lifecycle();
    }
    const [message] = await receiver.until(1);
    const events = await collect(audit().events({ type: 'audit.head' }));
    expect(events).toHaveLength(1);
    const [head] = events;
    expect(message?.event).toMatchObject({
      id: head?.id,
      subject: `audit/${head?.data?.['seq']}`,
      data: { actor: { kind: 'porthole' }, details: head?.data },
    });
    const { heads, keys } = await audit().heads();
    const [kept] = heads.filter(({ seq }) => seq === head?.data?.['seq']);
    expect(head?.data).toEqual({ seq: kept?.seq, hash: kept?.hash, token: kept?.token });
    expect((await verifyAudit(await collect(audit().events()), { heads, keys })).heads).toBe(2);
  });
});

suite('signed heads wait, while nothing else does, and the doctor says so', s3Missing, () => {
  let server: S3Server;
  let host: TestHost;
  afterEach(async () => {
    await host?.end();
    await server?.stop();
  }, 60_000);

  test.each<[string, number, () => Promise<void>]>([
    ['is away', 24, () => server.stop()],
    ['is full', 1, () => Promise.resolve()],
  ])('for a bucket that %s', async (_title, volumes, prepare) => {
    server = await startS3(volumes);
    await server.request('PUT', '/kept', '', { 'x-amz-bucket-object-lock-enabled': 'true' });
    const clock = pinnedClock();
    host = await startTestHost(environment(server), { clock });
    const auditCheck = async () => {
      const checks = (await host.call('GET', '/api/installation/checks')).json<{
        checks: { name: string; state: string; detail: string }[];
      }>();
      return checks.checks.find(({ name }) => name === 'audit');
    };
    expect(await auditCheck()).toMatchObject({ state: 'ok' });
    await prepare();
    expect((await host.call('POST', '/v1/sandbox', { body: {} })).status).toBe(200);
    clock.advance({ minutes: 6 });
    await host.host.lifecycle();
    clock.advance({ minutes: 11 });
    expect(await auditCheck()).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('a signed head waits since 2030-03-01T'),
    });
    expect(host.logged.join('')).toContain('signed heads of the audit not in the bucket');
    expect(host.logged.join('')).not.toContain(server.secretAccessKey);
  });
});
