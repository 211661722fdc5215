/** Buckets in the containers of a host. */
import { mountedBucketsContract } from '#test/contracts/mounted-buckets.contract.ts';
import { bucketsMissing } from '#test/support/seaweedfs.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine } from './support/engine.ts';

suite('mounting buckets in containers', engineMissing() ?? bucketsMissing, () => {
  mountedBucketsContract(async () => {
    const engine = await openTestEngine();
    return { settings: dockerEnvironment(engine), end: () => engine.stop() };
  });
});
