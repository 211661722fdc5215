import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { PortholeError } from '#base/errors.ts';
import type { HeadStore } from '#core/audit/anchor-heads.ts';
import type { ArchiveStore } from '#core/archives/archive-store.ts';
import type { BucketCredentials } from '#core/mounts/mount-bucket.ts';
import { onceOpen, unlessAborted } from '#base/concurrency.ts';

export interface S3ArchiveOptions {
  readonly bucket: string;
  /** Origin of the S3 server. */
  readonly endpoint: URL;
  readonly region: string;
  readonly credentials: BucketCredentials;
}

/**
 * Part size, in bytes. S3's limit of 10,000 parts allows archives of 156 GiB; 4 concurrent parts
 * take 64 MiB of memory.
 */
const PART_BYTES = 16_777_216;

/** Answers of a server, or of its bucket, that has no object lock. */
const NO_LOCK: ReadonlySet<unknown> = new Set(['InvalidRequest', 'NotImplemented']);

/** Archives as objects of a bucket, uploaded in parts as a stream. */
export function s3ArchiveStore({
  bucket,
  endpoint,
  region,
  credentials,
}: S3ArchiveOptions): ArchiveStore & HeadStore {
  // Loaded lazily: most processes need no client.
  const client = onceOpen(() =>
    import('@bradenmacdonald/s3-lite-client').then(
      (library) =>
        new library.S3Client({
          endPoint: endpoint.origin,
          region,
          bucket,
          accessKey: credentials.accessKeyId,
          secretKey: credentials.secretAccessKey,
          pathStyle: true,
        }),
    ),
  );
  return {
    async put(key, content, signal) {
      let ownFailure: Error | undefined;
      content.once('error', (error) => (ownFailure = error));
      try {
        const stream = Readable.toWeb(content) as unknown as globalThis.ReadableStream<
          Uint8Array<ArrayBuffer>
        >;
        const stored = (await client()).putObject(key, stream, { partSize: PART_BYTES });
        // The client takes no signal: after an abort, the upload is not awaited.
        await unlessAborted(stored, signal);
      } catch (error) {
        content.destroy();
        signal?.throwIfAborted();
        throw ownFailure ?? failure('stored', error);
      }
    },

    async putLocked(key, text, until) {
      try {
        const bucketClient = await client();
        const metadata = { 'Content-Type': 'application/json' };
        const lock = {
          'x-amz-object-lock-mode': 'GOVERNANCE',
          'x-amz-object-lock-retain-until-date': until.toISOString(),
          // Required with a lock.
          'x-amz-checksum-sha256': createHash('sha256').update(text).digest('base64'),
        };
        await bucketClient
          .putObject(key, text, { metadata: { ...metadata, ...lock } })
          .catch((error: unknown) => {
            if (!NO_LOCK.has(codeOf(error))) throw error;
            return bucketClient.putObject(key, text, { metadata });
          });
      } catch (error) {
        throw failure('stored', error);
      }
    },

    async get(key, range) {
      try {
        const bucketClient = await client();
        const { body } =
          range === undefined
            ? await bucketClient.getObject(key)
            : await bucketClient.getPartialObject(key, { offset: range.from, length: range.length });
        return body === null ? Readable.from([]) : Readable.fromWeb(body);
      } catch (error) {
        if (codeOf(error) === 'NoSuchKey') {
          throw new PortholeError('archive_not_found', 'The archive is no longer in its bucket', {
            remedy: 'delete its record.',
          });
        }
        throw failure('read', error);
      }
    },

    async remove(key) {
      try {
        await (await client()).deleteObject(key);
      } catch (error) {
        if (codeOf(error) !== 'NoSuchKey') throw failure('deleted', error);
      }
    },
  };
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** The cause is only for the log. */
function failure(what: string, cause: unknown): PortholeError {
  return new PortholeError('archive_error', `The archive could not be ${what}`, {
    remedy: 'try again, or look at PORTHOLE_ARCHIVE_BUCKET and its server.',
    cause,
  });
}
