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
