import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { s3ArchiveStore } from '#adapters/system/s3-archive-store.ts';
import { archiveSandbox } from '#core/archives/archive-sandbox.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type S3Server, s3Missing, startS3 } from '#test/support/seaweedfs.ts';
import { suite } from '#test/support/suite.ts';
import { execute } from './support/commands.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';
import { type PinnedClock, pinnedClock } from './support/pinned-clock.ts';
import { outcome } from './support/runs.ts';

interface Listed {
  readonly archives: readonly { readonly id: string; readonly sandbox_id: string; readonly size: number }[];
}

suite('archives of what is destroyed after its retention', s3Missing, () => {
  let server: S3Server;
  let porthole: TestHost;
  let clock: PinnedClock;
  beforeAll(async () => {
    server = await startS3();
    await server.request('PUT', '/archives');
    clock = pinnedClock();
    porthole = await startTestHost(
      {
        ...PEOPLE,
        SANDBOX_RETENTION_HOURS: '1',
        PORTHOLE_ARCHIVE_BUCKET: 'archives',
        PORTHOLE_ARCHIVE_ENDPOINT: server.endpoint,
        PORTHOLE_ARCHIVE_ACCESS_KEY_ID: server.accessKeyId,
        PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: server.secretAccessKey,
      },
      { clock },
    );
  }, 60_000);
  afterAll(async () => {
    await porthole?.end();
    await server?.stop();
  }, 60_000);

  const create = (token: string, body: object = {}) => porthole.call('POST', '/v1/sandbox', { token, body });
  const made = async (token: string, body: object = {}) =>
    (await create(token, body)).json<{ id: string }>().id;
  const sh = async (id: string, script: string) => {
    const { stdout, exitCode } = await execute(porthole, id, ['sh', '-c', script], { token: ALICE });
    expect(exitCode).toBe(0);
    return stdout.toString();
  };
  const stop = (id: string) => porthole.call('POST', `/v1/sandbox/${id}/stop`, { token: ALICE });
  const archives = async (token: string, query = '') =>
    (await porthole.call('GET', `/api/archives${query}`, { token })).json<Listed>().archives;
  const stateOf = async (id: string) => (await porthole.host.services.sandboxes.inspect(id)).state;
  const expire = async () => {
    clock.advance({ minutes: 61 });
    return porthole.host.lifecycle();
  };
  const metric = async (outcome: string) => {
    const { text } = await porthole.host.services.metrics();
    return new RegExp(`porthole_archives_total{outcome="${outcome}"} (\\d+)`).exec(text)?.[1];
  };

  test('start a new sandbox with the contents of the old one', async () => {
    const id = await made(ALICE, { name: 'kept' });
    await sh(
      id,
      'mkdir -p src/empty; printf contents > src/file; chmod 755 src/file; ln -s src/file link; ln -s /tmp/elsewhere out; printf "" > "two\nlines"; ln src/file hard; mkdir shut; printf secret > shut/unreadable; chmod 000 shut/unreadable shut',
    );
    await stop(id);
    expect(await expire()).toMatchObject({ expire: 1 });
    expect([await stateOf(id), await metric('kept'), await metric('failed')]).toEqual([
      'absent',
      '1',
      undefined,
    ]);
    const [kept] = await archives(ALICE);
    expect(kept).toEqual({
      id: `arc_${id}_1`,
      sandbox_id: id,
      name: 'kept',
      image: null,
      owner: 'alice',
      size: expect.any(Number),
      left_out: 0,
      created_at: clock.now().toISOString(),
    });
    expect([await archives(ALICE, `?sandbox_id=${id}`), await archives(ALICE, '?sandbox_id=a')]).toEqual([
      [kept],
      [],
    ]);
    const again = await made(ALICE, { from_archive: kept?.id });
    expect(again).not.toBe(id);
    expect(
      await sh(
        again,
        'cat src/file; ls src; readlink link out; stat -c "%a %h" src/file; cat shut/unreadable; echo; ls -A | grep -c porthole || :',
      ),
    ).toBe('contentsempty\nfile\nsrc/file\n/tmp/elsewhere\n755 2\nsecret\n0\n');
    expect(porthole.logged.join('')).not.toContain(server.secretAccessKey);
  });

  test('refuses it to other users, and creates nothing for them', async () => {
    const [kept] = await archives(ALICE);
    expect([await archives(BOB), outcome(await create(BOB, { from_archive: kept?.id }))]).toEqual([
      [],
      [404, 'archive_not_found'],
    ]);
    expect(outcome(await create(ALICE, { from_archive: 'arc_none_1' }))).toEqual([404, 'archive_not_found']);
    const removal = await porthole.call('DELETE', `/api/archives/${kept?.id}`, { token: BOB });
    expect(outcome(removal)).toEqual([404, 'archive_not_found']);
  });

  test('are gone with their files once they are deleted', async () => {
    const [kept] = await archives(ALICE);
    const { key } = (await porthole.host.services.records.archives.get(kept?.id ?? '')) ?? { key: '' };
    expect((await server.request('GET', `/archives/${key}`)).status).toBe(200);
    const remove = () => porthole.call('DELETE', `/api/archives/${kept?.id}`, { token: ALICE });
    expect([(await remove()).status, (await remove()).status]).toEqual([204, 404]);
    expect((await server.request('GET', `/archives/${key}`)).status).toBe(404);
  });

  describe('when the bucket cannot be reached', () => {
    test('destroys nothing, and archives the sandbox in the next pass that can', async () => {
      const id = await made(ALICE);
      await sh(id, 'echo precious > file');
      await stop(id);
      const { archives: kept, records, installationId } = porthole.host.services;
      if (kept === undefined) throw new Error('no archives');
      const store = s3ArchiveStore({
        bucket: 'archives',
        endpoint: new URL('http://127.0.0.1:1'),
        region: 'us-east-1',
        credentials: { accessKeyId: 'x', secretAccessKey: 'y' },
      });
      const sandbox = await records.sandboxes.get(id);
      if (sandbox === undefined) throw new Error('no sandbox');
      const before = sandbox.lastActiveAt;
      const { sandboxes } = porthole.host.services;
      await expect(
        archiveSandbox({ records, sandboxes, store, clock, installationId }, sandbox),
      ).rejects.toMatchObject({
        code: 'archive_error',
      });
      expect([await stateOf(id), (await records.sandboxes.get(id))?.desired]).toEqual(['stopped', 'stopped']);
      expect((await records.sandboxes.get(id))?.lastActiveAt).toEqual(before);
      expect(await archives(ALICE, `?sandbox_id=${id}`)).toEqual([]);
      await expire();
      expect([await stateOf(id), (await archives(ALICE, `?sandbox_id=${id}`)).length]).toEqual(['absent', 1]);
    });

    test('postpones the destroy in a pass, logs it and counts it', async () => {
      const own = pinnedClock();
      const broken = await startTestHost(
        {
          SANDBOX_RETENTION_HOURS: '1',
          PORTHOLE_ARCHIVE_BUCKET: 'archives',
          PORTHOLE_ARCHIVE_ENDPOINT: 'http://127.0.0.1:1',
          AWS_ACCESS_KEY_ID: 'some-key',
          AWS_SECRET_ACCESS_KEY: 'some-secret-that-is-never-shown',
        },
        { clock: own },
      );
      try {
        const { id } = (await broken.call('POST', '/v1/sandbox')).json<{ id: string }>();
        await broken.call('POST', `/v1/sandbox/${id}/stop`);
        own.advance({ minutes: 61 });
        expect(await broken.host.lifecycle()).toMatchObject({ expire: 0 });
        expect((await broken.host.services.sandboxes.inspect(id)).state).toBe('stopped');
        const { text } = await broken.host.services.metrics();
        expect(text).toContain('porthole_archives_total{outcome="failed"} 1');
        expect(broken.logged.join('')).toContain('sandbox not looked after: the next pass tries again');
        expect(broken.logged.join('')).not.toContain('some-secret-that-is-never-shown');
      } finally {
        await broken.end();
      }
    });
  });

  test('repeats without harm a pass that was cut off before it destroyed', async () => {
    const id = await made(ALICE);
    await sh(id, 'echo once > file');
    await stop(id);
    const { records, archives: kept } = porthole.host.services;
    const sandbox = await records.sandboxes.get(id);
    if (sandbox === undefined || kept === undefined) throw new Error('not there');
    clock.advance({ minutes: 61 });
    await Promise.allSettled([kept.keep(sandbox), kept.keep(sandbox)]);
    await porthole.host.lifecycle();
    expect(await stateOf(id)).toBe('absent');
    const [only, ...more] = await archives(ALICE, `?sandbox_id=${id}`);
    expect(more).toEqual([]);
    expect(await sh(await made(ALICE, { from_archive: only?.id }), 'cat file')).toBe('once\n');
  });

  test('archives the current files of a sandbox that was resumed meanwhile when it is stopped again', async () => {
    const id = await made(ALICE);
    await sh(id, 'echo old > file');
    await stop(id);
    const { records, archives: kept } = porthole.host.services;
    const sandbox = await records.sandboxes.get(id);
    if (sandbox === undefined) throw new Error('not there');
    await kept?.keep(sandbox);
    clock.advance({ minutes: 1 });
    await sh(id, 'echo new > file');
    await stop(id);
    await expire();
    const [only] = await archives(ALICE, `?sandbox_id=${id}`);
    expect(await sh(await made(ALICE, { from_archive: only?.id }), 'cat file')).toBe('new\n');
  });

  test('archives no sandbox that its owner deletes', async () => {
    const id = await made(ALICE);
    await porthole.call('DELETE', `/v1/sandbox/${id}`, { token: ALICE });
    await porthole.host.lifecycle();
    expect(await archives(ALICE, `?sandbox_id=${id}`)).toEqual([]);
  });

  test('creates no sandbox from an archive that is gone from its bucket', async () => {
    const id = await made(ALICE);
    await stop(id);
    await expire();
    const record = await porthole.host.services.records.archives.get(`arc_${id}_1`);
    await server.request('DELETE', `/archives/${record?.key}`);
    const count = async () =>
      (await porthole.call('GET', '/v1/sandbox', { token: ALICE })).json<{ sandboxes: unknown[] }>().sandboxes
        .length;
    const before = await count();
    expect(outcome(await create(ALICE, { from_archive: record?.id }))).toEqual([404, 'archive_not_found']);
    expect(await count()).toBe(before);
  });
});
