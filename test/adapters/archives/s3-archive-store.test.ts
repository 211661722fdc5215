import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Readable } from 'node:stream';
import { type S3ArchiveOptions, s3ArchiveStore } from '#adapters/system/s3-archive-store.ts';
import { archiveStoreContract } from '#test/contracts/archive-store.contract.ts';
import { type S3Server, s3Missing, startS3 } from '#test/support/seaweedfs.ts';
import { suite } from '#test/support/suite.ts';

const optionsOf = (server: S3Server): S3ArchiveOptions => ({
  bucket: 'archives',
  endpoint: new URL(server.endpoint),
  region: 'us-east-1',
  credentials: { accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey },
});

suite('on a bucket', s3Missing, () => {
  archiveStoreContract(async () => {
    const server = await startS3();
    await server.request('PUT', '/archives');
    return { store: s3ArchiveStore(optionsOf(server)), end: () => server.stop() };
  });

  let server: S3Server;
  beforeAll(async () => {
    server = await startS3();
  }, 60_000);
  afterAll(() => server?.stop());

  test('keeps a locked text until its time', async () => {
    await server.request('PUT', '/locked', '', { 'x-amz-bucket-object-lock-enabled': 'true' });
    const store = s3ArchiveStore({ ...optionsOf(server), bucket: 'locked' });
    const until = new Date('2030-01-01T00:00:00.000Z');
    await store.putLocked('heads/1.json', 'first', until);
    const stored = await server.request('HEAD', '/locked/heads/1.json');
    expect(stored.headers.get('x-amz-object-lock-mode')).toBe('GOVERNANCE');
    expect(Date.parse(stored.headers.get('x-amz-object-lock-retain-until-date') ?? '')).toBe(until.getTime());
    const version = stored.headers.get('x-amz-version-id');
    const removed = await server.request('DELETE', `/locked/heads/1.json?versionId=${version}`);
    expect([removed.status, await server.read('/locked/heads/1.json')]).toEqual([403, 'first']);
  });

  test('stores a text in a bucket without locks', async () => {
    await server.request('PUT', '/archives');
    await s3ArchiveStore(optionsOf(server)).putLocked('heads/1.json', 'first', new Date(Date.now() + 60_000));
    expect(await server.read('/archives/heads/1.json')).toBe('first');
  });

  test.each<[string, (options: S3ArchiveOptions) => S3ArchiveOptions]>([
    ['a server that is not there', (options) => ({ ...options, endpoint: new URL('http://127.0.0.1:1') })],
    [
      'a wrong key',
      (options) => ({
        ...options,
        credentials: { accessKeyId: 'unknown-key', secretAccessKey: 'the-secret-of-unknown' },
      }),
    ],
  ])('%s is an error that tells no key', async (_what, change) => {
    await server.request('PUT', '/archives');
    const store = s3ArchiveStore(change(optionsOf(server)));
    const failed = store.put('x', Readable.from([Buffer.from('x')]));
    await expect(failed).rejects.toMatchObject({ code: 'archive_error' });
    const error = (await failed.catch((caught: unknown) => caught)) as Error;
    expect(String(error.stack) + String(error.cause)).not.toMatch(/secret-of-unknown|test-secret/);
  });
});
