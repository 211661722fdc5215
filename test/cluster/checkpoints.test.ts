/** Checkpoints, restores and forks of sandboxes that are pods, stored in a bucket. */
import { afterAll, beforeAll } from '@jest/globals';
import { checkpointsContract } from '#test/contracts/checkpoints.contract.ts';
import { type S3Server, s3Missing, startS3 } from '#test/support/seaweedfs.ts';
import { suite } from '#test/support/suite.ts';
import { definitionsMissing } from './agent-sandbox-stand-in/definitions.ts';
import { missing } from './fixture/cluster.ts';
import { openOnClaims, openOnPods } from './hosts/cluster-hosts.ts';

suite('checkpoints of pods', missing() ?? s3Missing, () => inBucket(openOnPods));

suite('checkpoints of claims of agent-sandbox', missing() ?? s3Missing ?? definitionsMissing(), () => {
  inBucket(openOnClaims);
});

function inBucket(open: typeof openOnPods): void {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3();
    await server.request('PUT', '/kept');
  }, 60_000);
  afterAll(() => server?.stop());
  checkpointsContract(() => {
    const environment = {
      PORTHOLE_ARCHIVE_BUCKET: 'kept',
      PORTHOLE_ARCHIVE_ENDPOINT: server.endpoint,
      PORTHOLE_ARCHIVE_ACCESS_KEY_ID: server.accessKeyId,
      PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: server.secretAccessKey,
    };
    return open({ environment });
  }, 'provider');
}
