/** Buckets in the local sandboxes of a host. */
import { mountedBucketsContract } from '#test/contracts/mounted-buckets.contract.ts';
import { bucketsMissing } from '#test/support/seaweedfs.ts';
import { suite } from '#test/support/suite.ts';

suite('mounting buckets', bucketsMissing, () => {
  mountedBucketsContract(async () => ({ settings: {}, end: async () => {} }));
});
